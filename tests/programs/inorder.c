/* Every thread keeps the order A B C D: nothing to find. */
#include "story.h"

TURN(1)
{
	L(A);
	L(B);
	L(C);
	L(D);
	U(D);
	U(C);
	U(B);
	U(A);
}

TURN(2)
{
	L(A);
	L(C);
	U(C);
	U(A);
}

TURN(3)
{
	L(B);
	L(D);
	U(B);
	U(D);
}

TURN(4)
{
	L(A);
	L(B);
	U(A);
	L(C);
	U(B);
	L(D);
	U(C);
	U(D);
}
