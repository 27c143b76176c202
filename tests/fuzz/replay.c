/* Runs a fuzz target once over each file of a corpus folder, so that what the fuzzer found once is
 * a plain test in every build. Links in place of libFuzzer's own main().
 *
 * Each input is copied into memory of exactly its size: under AddressSanitizer a read of one byte
 * too many is then a report, as it is in the fuzzer.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    uint8_t *data = NULL;
    FILE *file;
    long size = -1;
    int rc = -1;

    if (!(file = fopen(path, "rb")))
        goto out;
    if (fseek(file, 0, SEEK_END) < 0 || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) < 0)
        goto out;
    if (!(data = malloc(size ? (size_t)size : 1)))
        goto out;
    if (fread(data, 1, (size_t)size, file) != (size_t)size)
        goto out;
    LLVMFuzzerTestOneInput(data, (size_t)size);
    rc = 0;
out:
    if (rc < 0)
        fprintf(stderr, "replay: cannot read '%s': %s\n", path, strerror(errno));
    free(data);
    if (file)
        fclose(file);
    return rc;
}

int main(int argc, char **argv)
{
    struct dirent *entry;
    DIR *dir;
    int count = 0;

    if (argc != 2 || !(dir = opendir(argv[1]))) {
        fprintf(stderr, "replay: no corpus folder '%s'\n", argc > 1 ? argv[1] : "");
        return 2;
    }
    while ((entry = readdir(dir))) {
        char path[4096];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        if (replay_file(path) < 0)
            return 1;
        count++;
    }
    closedir(dir);
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
