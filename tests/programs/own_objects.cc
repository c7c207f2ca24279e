/* Own objects in C++: a class whose constructor and destructor tell of its life. The argument says which:
 *
 *   clean     armed and disarmed, then gone
 *   gone      gone while it is armed, as a local variable
 *   deleted   the same on the heap, where the destructor does not tell: the memory does
 *   repaired  the type stops what goes with its memory
 */
#include <cstdio>
#include <cstring>
#include <lockwright.h>
#include <memory>
#include <new>

namespace {

bool stop(void *addr, lw_object_state state);

/* All fields in their order, as C++ has it before C++20. */
const lw_object_descr watch_type = LW_OBJECT_DESCR("watch");
const lw_object_descr alarm_type = {"alarm", nullptr, nullptr, nullptr, nullptr, nullptr, stop, nullptr, 0};

class Watch {
public:
	Watch() { lw_object_init(this, &watch_type); }
	~Watch() { lw_object_free(this, &watch_type); }
	Watch(const Watch &) = delete;
	Watch &operator=(const Watch &) = delete;

	void arm() { lw_object_activate(this, &watch_type); }
	void disarm() { lw_object_deactivate(this, &watch_type); }

private:
	int interval_ = 50;
};

struct Alarm {
	Alarm() { lw_object_init(this, &alarm_type); }
	void arm() { lw_object_activate(this, &alarm_type); }
	int interval = 50;
};

bool stop(void *addr, lw_object_state state)
{
	lw_object_deactivate(addr, &alarm_type);
	lw_object_free(addr, &alarm_type);
	return state == LW_OBJECT_ACTIVE;
}

/* Memory that the compiler does not know to be given back. */
__attribute__((noinline)) void give_back(void *memory) { ::operator delete(memory); }

} // namespace

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!std::strcmp(what, "clean")) {
		auto watch = std::make_unique<Watch>();
		watch->arm();
		watch->disarm();
	} else if (!std::strcmp(what, "gone")) {
		Watch watch;
		watch.arm();
	} else if (!std::strcmp(what, "deleted")) {
		Watch *watch = new (::operator new(sizeof(Watch))) Watch;
		watch->arm();
		give_back(watch);
	} else if (!std::strcmp(what, "repaired")) {
		Alarm *alarm = new (::operator new(sizeof(Alarm))) Alarm;
		alarm->arm();
		give_back(alarm);
	} else {
		return 2;
	}
	std::printf("%s: done\n", what);
	return 0;
}
