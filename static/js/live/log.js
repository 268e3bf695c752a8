// What a job's log adds up to: its phase, and the numbers of its epochs. No page, no clock.

import { capital, span } from "../core/words.js";

export const begin = () => ({ seq: 0, phase: "", done: 0, due: 0, epochs: [], figures: 0 });

/** One more line. What came before changes nothing; another attempt begins anew, but for figures that are drawn. */
export function fold(state, line) {
  if (line.seq <= state.seq) return state;
  const { phase, done, due, figures = state.figures, ...numbers } = line.numbers ?? {}, seq = line.seq;
  if (!phase) return { ...(/^Attempt \d/.test(line.sentence) ? begin() : state), seq, figures };
  const epochs = "train_loss" in numbers ? [...state.epochs, { epoch: done, ...numbers }] : state.epochs;
  return { seq, phase, done, due, epochs, figures };
}

const PHASES = {
  recording: "Recording what the draft would say",
  "recording training": "Recording the prompts to learn from",
  "recording validation": "Recording the prompts to tune by",
  "recording test": "Recording the prompts to test with",
  training: "Training",
  "measuring costs": "Measuring what passes cost",
  ablations: "Training with less to see",
  confirming: "Running the best settings",
};

/** How far it is, as one reads it. */
export function inWords(state, status) {
  const epoch = state.phase === "training" && state.epochs.length ? `, epoch ${state.done} of ${state.due}` : "";
  return {
    phase: status.state === "queued" ? "Waiting" : `${PHASES[state.phase] ?? capital(state.phase || "loading the pair")}${epoch}`,
    count: epoch ? "" : status.step ? `${status.step.done} of ${status.step.due}` : status.total ? `${status.done} of ${status.total} samples decoded` : "",
    left: status.seconds_left ? `about ${span(status.seconds_left)} left` : "",
  };
}

/** Trouble with this attempt, and why the one before it ended. */
export const attempt = ({ trouble, attempt, setback }) =>
  [trouble, attempt > 1 ? `Attempt ${attempt}. ${setback}` : ""].filter(Boolean).join(" ");

/** How far the step that runs is, where the samples do not say it. */
export function step({ step, seconds_left }) {
  if (!step) return "";
  const left = seconds_left ? `, about ${span(seconds_left)} left` : "";
  return `${capital(step.phase)}: ${step.done} of ${step.due}${left}.`;
}

/** What its bar shows: the step that runs where that counts no samples, or all are decoded; else the samples. */
export const counted = ({ step, done, total }) => step ? { done: step.done, total: step.due } : { done, total };
