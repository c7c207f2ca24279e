// Two locks of C's in both orders, by two threads, and two of Go's likewise.
package main

/*
#include <pthread.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;

static void left_then_right(void)
{
	pthread_mutex_lock(&left);
	pthread_mutex_lock(&right);
	pthread_mutex_unlock(&right);
	pthread_mutex_unlock(&left);
}

static void right_then_left(void)
{
	pthread_mutex_lock(&right);
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	pthread_mutex_unlock(&right);
}
*/
import "C"

import (
	"runtime"
	"sync"
	"syscall"
)

func both(outer, inner *sync.Mutex) {
	outer.Lock()
	inner.Lock()
	inner.Unlock()
	outer.Unlock()
}

func main() {
	// This thread runs nobody else.
	runtime.LockOSThread()
	var left, right sync.Mutex
	begin, done := make(chan bool), make(chan bool)
	go func() {
		runtime.LockOSThread()
		// Both threads are there before either takes a lock.
		begin <- true
		<-begin
		C.right_then_left()
		both(&left, &right)
		done <- true
	}()
	<-begin
	C.left_then_right()
	begin <- true
	<-done
	both(&right, &left)
	syscall.Write(1, []byte("done\n"))
}
