// One line of words about a round. Pure.

import { ms } from "../core/words.js";

const STOPS = {
  limit: "lookahead reached", rule: "stop rule", eos: "end token drafted", length: "no room left",
  early: "outcome arrived", match: "nothing more to copy",
};

const BACKUPS = { neural: "draft model", ngram: "n-gram before", copy: "copy", random: "dice" };

export function facts(round) {
  const drafted = round.drafted.length ? [
    `${round.accepted} of ${round.drafted.length} accepted`,
    `drafted in ${ms(round.draftEnd - round.draftStart)}, ended by: ${STOPS[round.stop] ?? round.stop}`,
  ] : ["no draft"];
  const parts = [
    `Round ${round.number}`, ...drafted,
    `the target waited ${ms(round.wait)} and verified in ${ms(round.verifyEnd - round.verifyStart)}`,
    origin(round), round.lost,
  ];
  return parts.filter(Boolean).join(" · ");
}

/** Where a round's own draft came from. */
export function origin(round) {
  if (round.source === "hit") return "from a prepared branch: a hit";
  if (round.source === "miss") return `after a miss, by the ${BACKUPS[round.backup] ?? "draft"}`;
  return round.source === "copied" ? "copied from the text" : "";
}
