"""A short text of many kinds: how often a token matters is measured on it."""

TEXT = """\
The committee met on Tuesday to discuss whether the old bridge, which had been closed since March 2019, could be
repaired before winter. "It depends on the foundations," said the engineer; "nobody has looked at them for 40 years."
Her report estimates 1,250,000 euros, or 3.7 % of the city's budget.

def running_mean(values: list[float], window: int = 8) -> list[float]:
    \"\"\"Return the mean of the last `window` values at each position.\"\"\"
    total, means = 0.0, []
    for index, value in enumerate(values):
        total += value
        if index >= window:
            total -= values[index - window]
        means.append(total / min(index + 1, window))
    return means

{"name": "station-7", "active": true, "position": {"lat": 48.137, "lon": 11.575}, "tags": ["river", "gauge"]}

# Steps
1. Open the terminal and run `git status`.
2. If a file has changed, commit it: `git commit -m "Fix the gauge"`.
- Otherwise there is nothing to do.

SELECT city, COUNT(*) AS stations FROM gauges WHERE level > 2.5 GROUP BY city ORDER BY stations DESC;

Question: A train leaves at 9:15 and arrives at 11:40. How long is the journey?
Answer: From 9:15 to 11:15 are two hours, and 25 minutes more make 2 hours and 25 minutes.

Übrigens: naïve café owners in São Paulo don't pay 10 € for a crème brûlée. Так бывает. 你好，世界。
"""
