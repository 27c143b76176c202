/* Has a part of everything that plumb makes metrics of; ready when it says so, ends with stdin. */
#include <stdio.h>

#include <plumb/fake.h>
#include <plumb/memory.h>
#include <plumb/plumb.h>

int main(void)
{
    static char block[64];
    plumb_queue queue = plumb_queue_get("gpu");
    plumb_queue_task task = plumb_queue_created(&queue);
    plumb_queue_started(&queue, &task);
    {
        PLUMB_REQUEST(request, "one", NULL);
        PLUMB_STAGE(stage, "stage");
        plumb_mem_reserve("cpu", "pool", block, sizeof block);
        plumb_mem_alloc("cpu", "pool", block, 32);
        {
            PLUMB_SPAN("node");
            plumb_fake_wait(plumb_fake_enqueue(0, 0, "kernel", 1000000));
        }
        plumb_fake_wait(plumb_fake_enqueue(0, 0, "kernel", 1000000));
    }
    plumb_queue_completed(&queue, &task);
    fprintf(stderr, "ready\n");
    getchar();
    return 0;
}
