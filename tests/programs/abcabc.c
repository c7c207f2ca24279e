/* A ring of three that the second pair begins to close from behind. */
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
	L(A);
	U(A);
	U(C);
}

TURN(3)
{
	L(B);
	L(C);
	U(C);
	U(B);
}
