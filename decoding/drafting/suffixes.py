"""Suffix automaton of a growing text, with counts of what followed each context. Standard library only.

A *state* stands for all contexts that ended at the same positions of the text. Appending a token takes constant time on
average. See Blumer et al., "The smallest automaton recognizing the subwords of a text" (1985).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from decoding.drafting.source import Match

START = 0
MOST_COUNTED = 32  # contexts that count one token: a text that loops has as many as it has tokens


class Suffixes:
    def __init__(self) -> None:
        self.end = START  # the state of the whole text
        self._next: list[dict[int, int]] = [{}]
        self._shorter = [-1]  # state of the longest context of another state that ends this one
        self._length = [0]  # of a state's longest context
        self._counts: list[dict[int, int]] = [{}]  # token -> how often it followed
        self._likeliest = [-1]  # the token that followed most often, of equal ones the latest
        self._total = [0]  # how often any token followed

    def repeated(self) -> tuple[int, int]:
        """Return the state of the longest context that ends the text and occurred before, and its length."""
        return self.shorter(self.end)

    def shorter(self, state: int) -> tuple[int, int]:
        """Return the state of the longest context of another state that ends this one, and its length."""
        found = max(START, self._shorter[state])
        return found, self._length[found]

    def followers(self, state: int, length: int) -> Iterator[tuple[int, Match]]:
        """Yield the token that most often followed a context of this length, then what followed both, and so on."""
        while state != START:
            token = self._likeliest[state]
            times = self._counts[state].get(token, 0)
            if times:
                yield token, Match(length, times, self._total[state])
                state, length = self._next[state][token], length + 1
            else:  # the text ends here: it loops, so go on where the loop began
                state, length = self.shorter(state)

    def matched(self, state: int, length: int, token: int) -> tuple[int, int]:
        """Follow another text: return the state of its longest end that occurs here, and its length, after one more
        token."""
        while state != START and token not in self._next[state]:
            state, length = self.shorter(state)
        return (self._next[state][token], length + 1) if token in self._next[state] else (START, 0)

    def matches(self, tokens: Sequence[int]) -> Iterator[tuple[int, Match]]:
        """Yield each of these tokens with the longest context that it followed before, if they go on with the text. End
        at one that followed none."""
        state, length = self.repeated()
        for token in tokens:
            while state != START and token not in self._counts[state]:
                state, length = self.shorter(state)
            if state == START:
                return
            yield token, Match(length, self._counts[state][token], self._total[state])
            state, length = self._next[state][token], length + 1

    def append(self, token: int) -> None:
        self._count(token)
        made = self._new(self._length[self.end] + 1, {}, START)
        state = self.end
        while state >= 0 and token not in self._next[state]:
            self._next[state][token] = made
            state = self._shorter[state]
        if state >= 0:
            self._shorter[made] = self._ending(state, token)
        self.end = made

    def _count(self, token: int) -> None:
        state, left = self.end, MOST_COUNTED
        while state > START and left:
            counts = self._counts[state]
            count = counts[token] = counts.get(token, 0) + 1
            self._total[state] += 1
            if count >= counts.get(self._likeliest[state], 0):
                self._likeliest[state] = token
            state, left = self._shorter[state], left - 1

    def _ending(self, state: int, token: int) -> int:
        """Return the state of this state's longest context and the token. If other positions end longer contexts with
        it, split them off."""
        found, length = self._next[state][token], self._length[state] + 1
        if self._length[found] == length:
            return found
        split = self._new(length, dict(self._next[found]), self._shorter[found])
        self._counts[split] = dict(self._counts[found])
        self._likeliest[split], self._total[split] = self._likeliest[found], self._total[found]
        while state >= 0 and self._next[state].get(token) == found:
            self._next[state][token] = split
            state = self._shorter[state]
        self._shorter[found] = split
        return split

    def _new(self, length: int, following: dict[int, int], shorter: int) -> int:
        self._next.append(following)
        self._shorter.append(shorter)
        self._length.append(length)
        self._counts.append({})
        self._likeliest.append(-1)
        self._total.append(0)
        return len(self._length) - 1
