# Two threads that count, and the end of the virtual machine.
# packages: openjdk-17-jdk-headless
cat > Count.java <<JAVA
public class Count {
    static int count;
    public static void main(String[] arguments) throws InterruptedException {
        Thread[] threads = new Thread[2];
        for (int i = 0; i < 2; i++) {
            threads[i] = new Thread(() -> { for (int n = 0; n < 1000; n++) synchronized (Count.class) { count++; } });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println(count);
    }
}
JAVA
watch check --no-default-suppressions -- java Count.java
