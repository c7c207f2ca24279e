#include <lockwright.h>
#include <stdio.h>
#include <stdlib.h>

struct request {
	int fd;
};

static const struct lw_object_descr request_type = {.name = "request"};

static struct request *request_new(int fd)
{
	struct request *request = malloc(sizeof *request);

	request->fd = fd;
	lw_object_init(request, &request_type);
	return request;
}

static void request_queue(struct request *request)
{
	lw_object_activate(request, &request_type);
	/* ... and enter it in the queue */
}

static void request_done(struct request *request)
{
	lw_object_deactivate(request, &request_type);
}

static void request_end(struct request *request)
{
	lw_object_destroy(request, &request_type);
	free(request);
}

int main(void)
{
	struct request *request = request_new(3), *forgotten = request_new(4);

	request_queue(request);
	request_done(request);
	request_end(request);

	request_queue(forgotten);
	request_end(forgotten); /* it is in the queue still */
	puts("done");
	return 0;
}
