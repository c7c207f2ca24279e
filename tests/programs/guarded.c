/* Both orders, but always with C held outside. */
#include "story.h"

TURN(1)
{
	L(C);
	L(A);
	L(B);
	U(B);
	U(A);
	U(C);
}

TURN(2)
{
	L(C);
	L(B);
	L(A);
	U(A);
	U(B);
	U(C);
}
