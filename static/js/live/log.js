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
  confirming: "Running the best settings",
};

/** How far a job is, as one reads it. The bar shows the step that runs where that counts no samples, or all are decoded; else
 * the samples. */
export function inWords({ state, step, done, total, parts, seconds_left: left, trouble, attempt, setback, sentence }, log = begin()) {
  const isTraining = log.phase === "training" && log.epochs.length > 0, phase = PHASES[log.phase] ?? (log.phase || step?.phase || (total ? "running" : "starting"));
  return {
    phase: state === "queued" ? "Waiting" : capital(phase),
    done: isTraining ? `epoch ${log.done} of ${log.due}` : step ? `${step.done} of ${step.due}` : total ? `${done} of ${total} ${parts}` : "",
    left: left ? `about ${span(left)} left` : "",
    bar: step ? { max: step.due, value: step.done } : { max: total || 1, value: done },
    reason: state === "running" ? [trouble, attempt > 1 ? `Attempt ${attempt}. ${setback}` : ""].filter(Boolean).join(" ") : sentence,
  };
}
