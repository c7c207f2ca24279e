/* The inversion shows only through what was held two levels below. */
#include "story.h"

TURN(1)
{
	L(A);
	L(B);
	L(C);
	U(C);
	U(B);
	U(A);
}

TURN(2)
{
	L(C);
	L(D);
	U(D);
	U(C);
}

TURN(3)
{
	L(D);
	L(A);
	U(A);
	U(D);
}
