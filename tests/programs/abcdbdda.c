/* A ring of three, A B D, with C leading into it. */
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
	L(C);
	L(D);
	U(D);
	U(C);
}

TURN(3)
{
	L(B);
	L(D);
	U(D);
	U(B);
}

TURN(4)
{
	L(D);
	L(A);
	U(A);
	U(D);
}
