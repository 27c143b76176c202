/* Owns the means of the cells of two pictures and the search for cells that changed together.
 *
 * Cells instead of pixels, because the noise of the encoder is in the pixels; the means of the
 * picture before are kept as a frame of the pool with a reference of their own. */
#include "motion.h"

#include <stdlib.h>
#include <string.h>

struct motion {
    struct frame_pool *pool;
    int columns, rows, threshold, least_cells;
    struct frame *before; /* [rows][columns], or NULL */
    uint8_t *change;      /* [rows][columns]: 0 is unchanged, or seen already */
    int *stack;           /* [rows * columns] */
};

struct motion *motion_open(struct frame_pool *pool, int width, int height, int threshold,
                           int least_cells)
{
    struct motion *m = calloc(1, sizeof(*m));
    size_t cells;

    if (!m)
        return NULL;
    *m = (struct motion){
        .pool = pool,
        .columns = (width + MOTION_CELL - 1) / MOTION_CELL,
        .rows = (height + MOTION_CELL - 1) / MOTION_CELL,
        .threshold = threshold,
        .least_cells = least_cells,
    };
    cells = (size_t)m->columns * (size_t)m->rows;
    m->change = malloc(cells);
    m->stack = malloc(cells * sizeof(*m->stack));
    if (m->change && m->stack)
        return m;
    motion_close(m);
    return NULL;
}

void motion_close(struct motion *m)
{
    if (!m)
        return;
    frame_unref(m->before);
    free(m->change);
    free(m->stack);
    free(m);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Cells at the right and at the bottom may be cut. */
static uint8_t cell_mean(const struct picture *p, int column, int row)
{
    const int x = column * MOTION_CELL, y = row * MOTION_CELL;
    const int width = least(MOTION_CELL, p->width - x), height = least(MOTION_CELL, p->height - y);
    int sum = 0;

    for (int j = 0; j < height; j++) {
        const uint8_t *line = p->plane[0] + (size_t)(y + j) * (size_t)p->stride[0] + x;
        for (int i = 0; i < width; i++)
            sum += line[i];
    }
    return (uint8_t)((sum + width * height / 2) / (width * height));
}

static void compare(struct motion *m, const uint8_t *now)
{
    for (int i = 0; i < m->columns * m->rows; i++) {
        int difference = m->before ? abs(now[i] - m->before->data[i]) : 0;
        m->change[i] = difference > m->threshold ? (uint8_t)difference : 0;
    }
}

/* Takes a cell into the box (x, y, width, height in cells) and its changed neighbours onto the
 * stack. Returns the new height of the stack. */
static int visit(struct motion *m, int cell, int height, struct box *box)
{
    const int x = cell % m->columns, y = cell / m->columns;
    const int right = box->x + box->width, bottom = box->y + box->height;

    box->x = least(box->x, x);
    box->width = (x < right ? right : x + 1) - box->x;
    box->height = (y < bottom ? bottom : y + 1) - box->y; /* y of the box: the first cell is top */
    box->cells++;
    for (int j = y - (y > 0); j <= least(y + 1, m->rows - 1); j++)
        for (int i = x - (x > 0); i <= least(x + 1, m->columns - 1); i++) {
            int neighbour = j * m->columns + i, difference = m->change[neighbour];
            if (difference == 0)
                continue;
            box->difference = difference > box->difference ? difference : box->difference;
            m->change[neighbour] = 0;
            m->stack[height++] = neighbour;
        }
    return height;
}

/* The changed cells that hang together with `first`, as a box in cells. */
static struct box grow(struct motion *m, int first)
{
    struct box box = {
        .x = first % m->columns, .y = first / m->columns, .difference = m->change[first]};
    int height = 1;

    m->change[first] = 0;
    m->stack[0] = first;
    while (height > 0) {
        int cell = m->stack[--height];
        height = visit(m, cell, height, &box);
    }
    return box;
}

static struct box to_pixels(const struct box *cells, const struct picture *p)
{
    struct box box = *cells;

    box.x *= MOTION_CELL;
    box.y *= MOTION_CELL;
    box.width = least(box.width * MOTION_CELL, p->width - box.x);
    box.height = least(box.height * MOTION_CELL, p->height - box.y);
    return box;
}

int motion_find(struct motion *m, const struct picture *p, struct box *boxes)
{
    struct frame *now = frame_pool_take(m->pool, (size_t)m->columns * (size_t)m->rows);
    int found = 0;

    if (!now)
        return -1;
    for (int row = 0; row < m->rows; row++)
        for (int column = 0; column < m->columns; column++)
            now->data[row * m->columns + column] = cell_mean(p, column, row);
    compare(m, now->data);
    frame_unref(m->before);
    m->before = now;
    for (int i = 0; i < m->columns * m->rows && found < MOTION_MOST_BOXES; i++) {
        struct box box;
        if (!m->change[i])
            continue;
        box = grow(m, i);
        if (box.cells >= m->least_cells)
            boxes[found++] = to_pixels(&box, p);
    }
    return found;
}
