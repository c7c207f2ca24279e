// Two locks of Go's in both orders.
package main

import (
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
	var left, right sync.Mutex
	done := make(chan bool)
	go func() {
		both(&left, &right)
		done <- true
	}()
	<-done
	both(&right, &left)
	syscall.Write(1, []byte("done\n"))
}
