# Threads, a queue, a mutex, a condition, a ractor, a forked child and a timeout.
require "timeout"
queue = Queue.new
mutex = Mutex.new
filled = ConditionVariable.new
count = 0
workers = 4.times.map do
  Thread.new do
    1000.times do |n|
      mutex.synchronize do
        count += 1
        filled.signal if count == 4000
      end
      queue << n
    end
  end
end
mutex.synchronize { filled.wait(mutex) until count == 4000 }
workers.each(&:join)
puts count, 4000.times.sum { queue.pop }
puts Ractor.new { 100.times.sum }.take
puts `echo a child`
pid = fork { Thread.new { exit!(3) }.join }
Process.wait(pid)
puts $?.exitstatus
begin
  Timeout.timeout(0.01) { sleep }
rescue Timeout::Error
  puts "timed out"
end
GC.start
