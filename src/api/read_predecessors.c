/* read_predecessors.c: the names of other profilers, in the public interface. */
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "report/names/names.h"
#include <plumb/read/doctor.h>
#include <plumb/read/predecessor.h>

extern char **environ;

/* Returns `status`, and the text as the caller's; or the error of a text that ran out of memory. */
static int hand_over(char **out, struct plumb_buf *text, int status, plumb_error *err)
{
    if (text->failed)
        status = plumb_fail(err, PLUMB_ERR_MEMORY, "out of memory");
    if (status < 0)
        plumb_buf_fini(text);
    else
        *out = text->data;
    return status;
}

int plumb_predecessor_help(char **out, const plumb_predecessors *table, const char *name,
                           plumb_error *err)
{
    struct plumb_buf text = {0};
    int status = PLUMB_OK;
    if (name)
        status = plumb_predecessors_explain(&text, table, name, err);
    else
        plumb_predecessors_list(&text, table);
    return hand_over(out, &text, status, err);
}

int plumb_predecessor_page(char **out, const plumb_predecessors *table, plumb_error *err)
{
    struct plumb_buf text = {0};
    plumb_predecessors_page(&text, table);
    return hand_over(out, &text, PLUMB_OK, err);
}

int plumb_doctor_variable(plumb_check *out, const plumb_predecessors *table, size_t i)
{
    return plumb_predecessors_advise(out, table, i, environ);
}
