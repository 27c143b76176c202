/* Owns forward pass, loss and backward pass. The output of a layer is kept until the backward pass
 * has used it. Everything lies in one block that is allocated once, so a training step allocates
 * nothing. */
#include "network.h"

#include "matrix.h"
#include "random.h"

#include <plumb/plumb.h>

#include <stdlib.h>
#include <string.h>
#include <tgmath.h>

/* ---- Memory ---------------------------------------------------------------------------------- */

static size_t weight_count(const struct linear *l)
{
    return (size_t)l->in * (size_t)l->out;
}

/* Parameters and gradients; activations and errors of each row of a batch; the scratch. */
static size_t count_all(const struct network *net, size_t rows)
{
    size_t outputs = 0, largest = 0;

    for (int i = 0; i < NETWORK_LAYERS; i++) {
        size_t weights = weight_count(&net->layers[i]);
        outputs += (size_t)net->layers[i].out;
        largest = weights > largest ? weights : largest;
    }
    return 2 * net->n_parameters + 2 * rows * outputs + largest;
}

static real *take(real **rest, size_t n)
{
    real *taken = *rest;

    *rest += n;
    return taken;
}

int network_init(struct network *net, const int widths[NETWORK_LAYERS + 1], int max_rows)
{
    size_t rows = (size_t)max_rows;
    real *rest;

    *net = (struct network){0};
    for (int i = 0; i < NETWORK_LAYERS; i++) {
        net->layers[i] = (struct linear){.in = widths[i], .out = widths[i + 1]};
        net->n_parameters += weight_count(&net->layers[i]) + (size_t)widths[i + 1];
    }
    rest = net->parameters = calloc(count_all(net, rows), sizeof(real));
    if (!net->parameters)
        return -1;
    net->gradients = net->parameters + net->n_parameters;
    for (int i = 0; i < NETWORK_LAYERS; i++) {
        struct linear *l = &net->layers[i];
        l->weight = take(&rest, weight_count(l));
        l->bias = take(&rest, (size_t)l->out);
        l->weight_gradient = l->weight + net->n_parameters;
        l->bias_gradient = l->bias + net->n_parameters;
    }
    rest += net->n_parameters;
    for (int i = 0; i < NETWORK_LAYERS; i++) {
        net->activations[i] = take(&rest, rows * (size_t)widths[i + 1]);
        net->errors[i] = take(&rest, rows * (size_t)widths[i + 1]);
    }
    net->scratch = rest;
    return 0;
}

void network_fini(struct network *net)
{
    free(net->parameters);
    *net = (struct network){0};
}

/* Uniform numbers of variance 1 / inputs (Glorot, Bengio: Understanding the difficulty of training
 * deep feedforward neural networks, 2010). */
void network_randomize(struct network *net, uint64_t seed)
{
    for (int i = 0; i < NETWORK_LAYERS; i++) {
        struct linear *l = &net->layers[i];
        struct random r = random_of(seed, RANDOM_WEIGHTS, (uint64_t)i);
        double limit = sqrt(3.0 / (double)l->in);
        for (size_t j = 0; j < weight_count(l); j++)
            l->weight[j] = (real)random_between(&r, -limit, limit);
        memset(l->bias, 0, (size_t)l->out * sizeof(real));
    }
}

/* ---- Forward --------------------------------------------------------------------------------- */

static void linear_forward(const struct linear *l, const real *x, real *y, int rows)
{
    for (int row = 0; row < rows; row++)
        memcpy(y + (size_t)row * (size_t)l->out, l->bias, (size_t)l->out * sizeof(real));
    matrix_add_product(y, x, l->weight, rows, l->in, l->out);
}

const real *network_forward(struct network *net, const real *x, int rows)
{
    PLUMB_SPAN("forward");
    net->input = x;
    for (int i = 0; i < NETWORK_LAYERS; i++) {
        const struct linear *l = &net->layers[i];
        real *y = net->activations[i];
        linear_forward(l, x, y, rows);
        for (int j = 0; j < rows * l->out && i < NETWORK_LAYERS - 1; j++)
            y[j] = tanh(y[j]);
        x = y;
    }
    return x;
}

static int index_of_largest(const real *values, int n)
{
    int largest = 0;

    for (int i = 1; i < n; i++)
        if (values[i] > values[largest])
            largest = i;
    return largest;
}

int network_answer(const struct network *net, const real *logits)
{
    return index_of_largest(logits, net->layers[NETWORK_LAYERS - 1].out);
}

/* ---- Loss ------------------------------------------------------------------------------------ */

/* Returns -log softmax(logits)[label]; `error` becomes its derivative by the logits. */
static double cross_entropy(const real *logits, real *error, int n, int label)
{
    real largest = logits[index_of_largest(logits, n)], sum = 0;

    for (int i = 0; i < n; i++) { /* less the largest: exp() cannot overflow */
        error[i] = exp(logits[i] - largest);
        sum += error[i];
    }
    for (int i = 0; i < n; i++)
        error[i] /= sum;
    error[label] -= 1;
    return log((double)sum) - (double)(logits[label] - largest);
}

double network_loss(struct network *net, const int *labels, int rows, int *correct)
{
    PLUMB_SPAN("loss");
    int classes = net->layers[NETWORK_LAYERS - 1].out;
    double sum = 0.0;

    for (int row = 0; row < rows; row++) {
        const real *logits = net->activations[NETWORK_LAYERS - 1] + row * classes;
        real *error = net->errors[NETWORK_LAYERS - 1] + row * classes;
        sum += cross_entropy(logits, error, classes, labels[row]);
        *correct += index_of_largest(logits, classes) == labels[row];
        for (int i = 0; i < classes; i++)
            error[i] /= (real)rows; /* the gradient is that of the mean */
    }
    return sum;
}

/* ---- Backward -------------------------------------------------------------------------------- */

static void linear_gradients(const struct linear *l, const real *x, const real *error, int rows)
{
    memset(l->weight_gradient, 0, weight_count(l) * sizeof(real));
    memset(l->bias_gradient, 0, (size_t)l->out * sizeof(real));
    matrix_add_transposed_product(l->weight_gradient, x, error, l->in, rows, l->out);
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < l->out; i++)
            l->bias_gradient[i] += error[row * l->out + i];
}

/* From the error of layer i to that of the layer before: through the weight, then through tanh,
 * whose derivative is 1 - tanh². */
static void pass_error_back(struct network *net, int i, int rows)
{
    const struct linear *l = &net->layers[i];
    const real *y = net->activations[i - 1];
    real *error = net->errors[i - 1];

    matrix_transpose(net->scratch, l->weight, l->in, l->out);
    memset(error, 0, (size_t)rows * (size_t)l->in * sizeof(real));
    matrix_add_product(error, net->errors[i], net->scratch, rows, l->out, l->in);
    for (int j = 0; j < rows * l->in; j++)
        error[j] *= 1 - y[j] * y[j];
}

void network_backward(struct network *net, int rows)
{
    PLUMB_SPAN("backward");
    for (int i = NETWORK_LAYERS - 1; i >= 0; i--) {
        const real *x = i > 0 ? net->activations[i - 1] : net->input;
        linear_gradients(&net->layers[i], x, net->errors[i], rows);
        if (i > 0)
            pass_error_back(net, i, rows);
    }
}
