/* The second order is only tried for: a trylock waits for nobody, so it depends on nothing held. */
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
	T(A);
	U(A);
	U(B);
}
