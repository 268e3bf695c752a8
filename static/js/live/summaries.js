// What a chart shows, in a sentence for whoever cannot see it. Pure: numbers in, words out.

const percent = (share) => `${Math.round(100 * share)} %`;
const list = (words) => words.join("; ");

/** Of a run's verifications. */
export function ofHistogram(name, counts) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (!total) return "";
  const mean = counts.reduce((sum, count, accepted) => sum + count * accepted, 0) / total;
  return `${name}, ${total} rounds: in ${percent(counts[0] / total)} of them no drafted token was accepted, ` +
    `in ${percent(counts.at(-1) / total)} as many as ${counts.length - 1}, on average ${mean.toFixed(1)}.`;
}

/** Of each run, how acceptance goes from the first place of a draft to the last that was often enough reached. */
export function ofPositions(rows) {
  const said = rows.filter((row) => row.places.length).map((row) => (row.places.length === 1
    ? `${row.name} ${percent(row.places[0])} in the only place`
    : `${row.name} from ${percent(row.places[0])} in the first place to ${percent(row.places.at(-1))} in place ${row.places.length}`));
  return said.length ? `Accepted of those drafts that came so far: ${list(said)}.` : "";
}

/** Of one text's rounds. */
export function ofRounds(name, rounds) {
  const drafted = rounds.reduce((sum, round) => sum + round.drafted.length, 0);
  const kept = rounds.reduce((sum, round) => sum + round.accepted, 0);
  if (!drafted) return `${name}, ${rounds.length} rounds without a draft.`;
  return `${name}, ${rounds.length} rounds: ${drafted} tokens drafted, ${kept} of them kept.`;
}

/** Of all texts of a prompt. `lines`: name, tokens, milliseconds. */
export function ofLines(lines) {
  const fastest = [...lines].sort((a, b) => b.tokens / b.ms - a.tokens / a.ms);
  return fastest.length ? `The steeper the faster: ${list(fastest.map((line) => `${line.name} ${line.tokens} tokens in ${Math.round(line.ms)} ms`))}.` : "";
}

/** Of each run's speed-ups over the prompts. */
export function ofForest(rows, paired) {
  const said = rows.filter((row) => row.speedup && !row.isBaseline).map((row) => {
    const ratios = (paired.get(row.number) ?? []).map((point) => point.ratio);
    const faster = ratios.filter((ratio) => ratio > 1).length;
    return `${row.name} ${row.speedup.median.toFixed(2)} times, faster on ${faster} of ${ratios.length} prompts`;
  });
  return said.length ? `Speed-up over ${rows.find((row) => row.isBaseline).name}: ${list(said)}.` : "";
}
