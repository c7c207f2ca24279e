#include <lockwright.h>
#include <cstdio>

namespace {

const lw_object_descr timer_type = LW_OBJECT_DESCR("timer");

class Timer {
public:
	Timer() { lw_object_init(this, &timer_type); }
	~Timer() { lw_object_free(this, &timer_type); }
	Timer(const Timer &) = delete;
	Timer &operator=(const Timer &) = delete;

	void start()
	{
		lw_object_activate(this, &timer_type);
		running_ = true;
	}
	void stop()
	{
		lw_object_deactivate(this, &timer_type);
		running_ = false;
	}
	bool is_running() const { return running_; }

private:
	bool running_ = false;
};

} // namespace

int main()
{
	Timer well, forgotten;
	well.start();
	well.stop();
	forgotten.start();
	std::printf("%d timer runs\n", well.is_running() + forgotten.is_running());
	return 0; // the memory of `forgotten` goes while it is active
}
