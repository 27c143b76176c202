/* Owns the command line: one table of options, from which parsing and help are made.
 *
 * Why not getopt_long: its table knows names only, and ranges, defaults and help would then live in
 * three other places. */
#include "options.h"

#include "problem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum id { OUT, JSON, FRAMES, WIDTH, THRESHOLD, CELLS, PROFILE, LEAK, HELP };

static const struct {
    const char *name, *value, *help; /* help NULL: not shown */
} table[] = {
    [OUT] = {"--out", "FILE.mp4", "the video with boxes (video_nodes.mp4)"},
    [JSON] = {"--json", "FILE", "the boxes, a JSON object for each frame (video_nodes.jsonl)"},
    [FRAMES] = {"--frames", "N", "1 to 1000000, from the start again if need be (the video once)"},
    [WIDTH] = {"--width", "N", "of the result, even, 16 to 4096 (480); the height follows"},
    [THRESHOLD] = {"--threshold", "N", "luma that a moving cell changes by, 0 to 254 (6)"},
    [CELLS] = {"--cells", "N", "least cells of a box, 1 to 1000 (4)"},
    [PROFILE] = {"--profile", NULL, "record this run, without the first 3 runs of each node"},
    [LEAK] = {"--leak", NULL, NULL}, /* for tests: keeps the first three resized frames */
    [HELP] = {"--help", NULL, "print this"},
};

enum { TABLE_LENGTH = sizeof(table) / sizeof(table[0]) };

static void print_help(void)
{
    printf("usage: video_nodes [options] VIDEO\n\n"
           "Finds what moves in a video: decodes it, resizes each frame, compares it with the one\n"
           "before, draws boxes, writes them as JSON and encodes the result.\n\n");
    for (int i = 0; i < TABLE_LENGTH; i++) {
        char left[32];
        snprintf(left, sizeof(left), "%s %s", table[i].name, table[i].value ? table[i].value : "");
        if (table[i].help)
            printf("  %-16s %s\n", left, table[i].help);
    }
    printf("\nexample:\n"
           "  text_to_video --out boat.mp4\n"
           "  video_nodes boat.mp4 --frames 300 --profile\n");
}

static enum options_result wrong(const char *text, const char *argument)
{
    struct problem line = {""};

    problem_set(&line, "%s '%.40s' (see --help)", text, argument);
    fprintf(stderr, "video_nodes: %s\n", line.text);
    return OPTIONS_WRONG;
}

static bool parse_int(const char *text, int least, int most, int *out)
{
    char *end = NULL;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno != 0 || value < least || value > most)
        return false;
    *out = (int)value;
    return true;
}

static bool parse_path(const char *text, const char **out)
{
    *out = text;
    return *text != '\0';
}

static bool parse_value(struct options *o, enum id id, const char *text)
{
    switch (id) {
    case OUT:
        return parse_path(text, &o->out_path);
    case JSON:
        return parse_path(text, &o->json_path);
    case FRAMES:
        return parse_int(text, 1, 1000000, &o->frames);
    case WIDTH:
        return parse_int(text, 16, 4096, &o->width) && o->width % 2 == 0;
    case THRESHOLD:
        return parse_int(text, 0, 254, &o->threshold);
    case CELLS:
        return parse_int(text, 1, 1000, &o->least_cells);
    case PROFILE:
    case LEAK:
    case HELP:
        break;
    }
    return false;
}

static int find_option(const char *argument)
{
    for (int i = 0; i < TABLE_LENGTH; i++)
        if (strcmp(argument, table[i].name) == 0)
            return i;
    return -1;
}

static enum options_result check(const struct options *o)
{
    if (!o->in_path) {
        fprintf(stderr, "video_nodes: which video? (see --help)\n");
        return OPTIONS_WRONG;
    }
    if (strcmp(o->out_path, o->json_path) == 0)
        return wrong("--out and --json are both", o->out_path);
    if (strcmp(o->in_path, o->out_path) == 0 || strcmp(o->in_path, o->json_path) == 0)
        return wrong("a result would replace the video", o->in_path);
    return OPTIONS_RUN;
}

enum options_result options_parse(struct options *o, int argc, char **argv)
{
    *o = (struct options){
        .out_path = "video_nodes.mp4",
        .json_path = "video_nodes.jsonl",
        .width = 480,
        .threshold = 6,
        .least_cells = 4,
    };
    for (int i = 1; i < argc; i++) {
        int id = find_option(argv[i]);
        if (id < 0 && (argv[i][0] == '-' || argv[i][0] == '\0'))
            return wrong("unknown option", argv[i]);
        if (id < 0 && o->in_path)
            return wrong("a second video", argv[i]);
        if (id < 0) {
            o->in_path = argv[i];
            continue;
        }
        if (id == HELP) {
            print_help();
            return OPTIONS_DONE;
        }
        o->profile |= id == PROFILE;
        o->leak |= id == LEAK;
        if (!table[id].value)
            continue;
        if (i + 1 == argc)
            return wrong("a value is missing after", argv[i]);
        if (!parse_value(o, (enum id)id, argv[++i])) {
            struct problem line = {""};
            problem_set(&line, "%s does not take '%.40s': %s", table[id].name, argv[i],
                        table[id].help);
            fprintf(stderr, "video_nodes: %s\n", line.text);
            return OPTIONS_WRONG;
        }
    }
    return check(o);
}
