/* A module with a type of objects, compiled with MODULE; and a program that loads the module given as first argument,
 * has it arm an object in the program's memory, unloads it, and frees the memory. A later call of the type's functions
 * goes to code that is gone. Twice: the second time the module may be where it was. */
#include <dlfcn.h>
#include <lockwright.h>
#include <stdio.h>
#include <stdlib.h>

struct timer {
	int rings;
};

#ifdef MODULE

void module_arm(struct timer *timer);

static int fixups;

static bool stop(void *addr, enum lw_object_state state)
{
	(void)addr;
	fixups++;
	return state == LW_OBJECT_ACTIVE;
}

static void *where(void *addr)
{
	(void)addr;
	return &fixups;
}

static const struct lw_object_descr type = {.name = "module's timer", .debug_hint = where, .fixup_free = stop};

void module_arm(struct timer *timer)
{
	lw_object_init(timer, &type);
	lw_object_activate(timer, &type);
}

#else

int main(int argc, char **argv)
{
	for (int life = 0; life < 2; life++) {
		void (*arm)(struct timer *);
		struct timer *timer = malloc(sizeof *timer);
		void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
		if (!module) {
			fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "own_objects_plugin MODULE");
			return 2;
		}
		*(void **)&arm = dlsym(module, "module_arm");
		arm(timer);
		dlclose(module);
		free(timer);
	}
	puts("the end");
	return 0;
}

#endif
