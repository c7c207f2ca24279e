/** Prints its process id and sleeps: a signal ends it. */
public class Idles {
    public static void main(String[] args) throws Exception {
        System.out.println(ProcessHandle.current().pid());
        Thread.sleep(600_000);
    }
}
