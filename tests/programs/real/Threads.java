import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
public class Threads {
    static long shared;
    static final Object monitor = new Object();
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> parts = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            final int n = i;
            parts.add(pool.submit(() -> {
                long sum = 0;
                for (int k = 0; k < 2000; k++) {
                    byte[] garbage = new byte[512];
                    garbage[k % 512] = (byte) n;
                    sum += garbage[k % 512] + k;
                    synchronized (monitor) { shared++; }
                }
                return sum;
            }));
        }
        long total = 0;
        for (Future<Long> part : parts) total += part.get();
        pool.shutdown();
        System.out.println(pool.awaitTermination(60, TimeUnit.SECONDS) + " " + total + " " + shared);
    }
}
