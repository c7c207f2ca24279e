/* Two locks, taken in both orders. */
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
	L(A);
	U(A);
	U(B);
}
