// How much time a race has room for. Pure: lengths in, a length out.

const TOO_LONG = 2; // times as long as the longest of the others
const BEYOND = 1.25; // then the others' longest leaves this much room to see that the lane goes on

/**
 * A peer, which nobody tunes here, may take many times as long as all others: its lane then runs out of the picture, so
 * that the others can be read. `mayLeave` is said of such a lane, `isOver` of one that has come to its end.
 *
 * @param {{ns: number, isOver: boolean, mayLeave: boolean}[]} lanes
 * @returns {{ns: number, isCut: boolean}}
 */
export function roomOf(lanes) {
  const longest = (some) => Math.max(0, ...some.map((lane) => lane.ns));
  const staying = lanes.filter((lane) => !lane.mayLeave);
  const isCut = staying.some((lane) => lane.isOver) && longest(lanes) > TOO_LONG * longest(staying);
  return { ns: isCut ? longest(staying) * BEYOND : longest(lanes), isCut };
}

/** Under way the scale grows in steps, so that lanes do not creep with every round. */
export function inSteps(ns) {
  const power = 2 ** Math.ceil(Math.log2(ns));
  return ns <= power * 0.75 ? power * 0.75 : power;
}
