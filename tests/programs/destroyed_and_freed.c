/* Objects with a lock go while the lock is held.
 *
 *   destroyed_and_freed one    the lock is destroyed, then the object is freed: one fault
 *   destroyed_and_freed two    as one, and another object is freed whose lock nobody destroyed
 *   destroyed_and_freed clean  unlocked, destroyed, freed
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct client {
	pthread_mutex_t lock;
	int state;
};

struct server {
	pthread_mutex_t guard;
	int clients;
};

static void client_gone(int unlocks)
{
	struct client *client = malloc(sizeof *client);
	pthread_mutex_init(&client->lock, NULL);
	pthread_mutex_lock(&client->lock);
	client->state = 1;
	if (unlocks)
		pthread_mutex_unlock(&client->lock);
	pthread_mutex_destroy(&client->lock);
	free(client);
}

static void server_gone(struct server *server)
{
	pthread_mutex_lock(&server->guard);
	server->clients = 1;
	free(server);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct server *server = malloc(sizeof *server);

	pthread_mutex_init(&server->guard, NULL);
	client_gone(!strcmp(how, "clean"));
	if (!strcmp(how, "two")) {
		server_gone(server);
	} else {
		pthread_mutex_destroy(&server->guard);
		free(server);
	}
	puts("the end");
	return 0;
}
