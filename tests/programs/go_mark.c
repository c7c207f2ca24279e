/* Looks like a Go program, by the section that Go's linker makes; calls no locks. */
#include <stdio.h>

__attribute__((section(".go.buildinfo"), used)) static const char mark[] = "\377 Go buildinf:";

int main(void)
{
	puts("gopher");
	return 0;
}
