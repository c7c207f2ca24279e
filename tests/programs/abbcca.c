/* A ring of three. */
#include "story.h"

TURN(1)
{
	L(A);
	L(B);
	U(B);
	U(A);
}

TURN(2)
{
	L(B);
	L(C);
	U(C);
	U(B);
}

TURN(3)
{
	L(C);
	L(A);
	U(A);
	U(C);
}
