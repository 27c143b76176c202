/* bench_jsonl.c: how fast a file of activation records becomes a table, against Python's json
 * reading the same file by key, in turns; and the scan of its JSON alone.
 *
 * The file: 225 modules, records as plumb writes them with its default statistics, fields in one
 * order, figures as they come (15 to 17 digits). Python builds what a comparison by key needs: a
 * dictionary of records. Its start is not in its time. */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read/activation/read.h"
#include "read/json/scan.h"

enum { RECORDS = 1000000, FEW = 100000, MODULES = 225, TURNS = 3, READS = 5 };

struct input {
    char path[512];
    uint64_t records, bytes;
    char *text; /* the file, padded */
};

static const char python[] = "import json, sys, time\n"
                             "begin = time.process_time()\n"
                             "table = {}\n"
                             "with open(sys.argv[1]) as f:\n"
                             "    for line in f:\n"
                             "        r = json.loads(line)\n"
                             "        table[r['module'], r['tensor'], r['step'], r['call']] = r\n"
                             "print(time.process_time() - begin, len(table))\n";

static void die(const char *what)
{
    fprintf(stderr, "bench_jsonl: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- The file ------------------------------------------------------------------------------- */

static double draw(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (double)(*random >> 11) / 9007199254740992.0;
}

static void make_file(struct input *in)
{
    static const char *const parts[] = {"attn.q",   "attn.k", "attn.v", "attn.out", "mlp.up",
                                        "mlp.down", "norm1",  "norm2",  "out"};
    static const char *const shapes[] = {"1, 4096, 1536", "1, 4096, 6144", "2, 77, 768"};
    uint64_t random = 1;
    FILE *file = fopen(in->path, "wb");
    if (!file)
        die(in->path);
    for (uint64_t i = 0; i < in->records; i++) {
        uint64_t module = i % MODULES;
        fprintf(file,
                "{\"module\": \"blocks.%d.%s\", \"tensor\": \"out\", \"step\": %d, "
                "\"abs_mean\": %.17g, \"sum\": %.17g, \"call\": 0, \"rank\": 0, \"seq\": %llu, "
                "\"phase\": \"inference\", \"io\": \"out\", \"dtype\": \"bfloat16\", "
                "\"shape\": [%s]}\n",
                (int)(module / 9), parts[module % 9], (int)(i / MODULES), draw(&random),
                (draw(&random) - 0.5) * 1e4, (unsigned long long)i, shapes[i % 3]);
    }
    in->bytes = (uint64_t)ftell(file);
    if (fclose(file) != 0 || !(file = fopen(in->path, "rb")))
        die(in->path);
    in->text = calloc(1, in->bytes + PLUMB_JSON_PADDING);
    if (!in->text || fread(in->text, 1, in->bytes, file) != in->bytes)
        die(in->path);
    fclose(file);
}

/* ---- Cells ---------------------------------------------------------------------------------- */

/* ns of CPU time. */
static double read_table(const struct input *in, double *bytes)
{
    struct plumb_activations t;
    plumb_error err;
    uint64_t begin = bench_cpu_ns();
    if (plumb_activations_read(&t, in->path, &err) < 0) {
        fprintf(stderr, "bench_jsonl: %s\n", err.message);
        exit(1);
    }
    double ns = (double)(bench_cpu_ns() - begin);
    if (t.count != in->records)
        die("not all records were read");
    *bytes = (double)plumb_activations_bytes(&t);
    plumb_activations_fini(&t);
    return ns;
}

static double read_in_python(const struct input *in)
{
    char command[2048];
    double seconds;
    unsigned long long records;
    snprintf(command, sizeof command, "/usr/bin/python3 -c \"%s\" '%s'", python, in->path);
    FILE *out = popen(command, "r");
    if (!out || fscanf(out, "%lf %llu", &seconds, &records) != 2 || records != in->records)
        die("python3");
    pclose(out);
    return seconds * 1e9;
}

static void scan(void *arg, uint64_t n)
{
    static struct plumb_json_scan s;
    const struct input *in = arg;
    while (n-- > 0) {
        plumb_json_scan_init(&s, PLUMB_JSON_LINES);
        plumb_json_scan_text(&s, in->text, in->bytes);
        while (plumb_json_next(&s) > PLUMB_JSON_END)
            continue;
        if (s.token != PLUMB_JSON_END || s.line != in->records)
            die("the scan ended early");
        plumb_json_scan_fini(&s);
    }
}

static void measure_reading(struct bench *b, const struct input *in)
{
    double x[TURNS], ns[TURNS], bytes = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        double reads[READS];
        for (int i = 0; i < READS; i++)
            reads[i] = read_table(in, &bytes);
        ns[turn] = bench_stat_of(reads, READS).median;
        x[turn] = read_in_python(in) / ns[turn];
    }
    bench_put(b, "jsonl_read_x_python", bench_stat_of(x, TURNS).median);
    bench_put(b, "jsonl_read_record_ns", bench_stat_of(ns, TURNS).median / (double)in->records);
    bench_put(b, "jsonl_bytes_per_record", bytes / (double)in->records);
}

int main(int argc, char **argv)
{
    static struct bench b;
    static struct input in;
    bench_open(&b, "jsonl", argc, argv);
    snprintf(in.path, sizeof in.path, "%s/bench-%d.jsonl", b.tmp_path, (int)getpid());
    in.records = b.quick ? FEW : RECORDS;
    make_file(&in);
    measure_reading(&b, &in);
    unlink(in.path);
    struct bench_cell cells[] = {
        {.name = "scan", .run = scan, .arg = &in},
    };
    bench_interleave(&b, cells, 1, 1, 9);
    bench_print_cells(cells, 1);
    bench_put(&b, "json_scan_gb_s", (double)in.bytes / cells[0].ns.median);
    return bench_close(&b);
}
