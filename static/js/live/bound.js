// How far each round ought to have looked ahead: as many tokens as the target would have accepted in a row from there.
// No strategy can know it; the texts being the same, any of them tells it of the places where it drafted.

/** For every token of the text: would the draft have said the same; undefined where no strategy drafted. */
export function matches(states, length) {
  const said = Array(length).fill(undefined);
  for (const state of states) {
    for (const round of state.rounds) {
      const seen = Math.min(round.accepted + 1, round.drafted.length);
      for (let i = 0; i < seen && round.start + i < length; i++) said[round.start + i] = i < round.accepted;
    }
  }
  return said;
}

/** The oracle's lookahead for a round that starts here: what would be accepted, and the token that would not. `isLeast`
 * where the end of what is known was reached first. */
export function oracleAt(said, start, cap = Infinity) {
  let n = 0;
  while (n < cap && said[start + n] === true) n++;
  if (n >= cap) return { lookahead: cap, isLeast: false };
  const isOver = start + n >= said.length - 1;
  return { lookahead: isOver ? n : n + (said[start + n] === false ? 1 : 0), isLeast: !isOver && said[start + n] === undefined };
}

/** Samples that wrote the same text as this one, as far as both have come. */
export function alike(state, others) {
  return others.filter((other) => {
    const length = Math.min(state.tokens.length, other.tokens.length);
    for (let i = 0; i < length; i++) if (state.tokens[i].id !== other.tokens[i].id) return false;
    return true;
  });
}
