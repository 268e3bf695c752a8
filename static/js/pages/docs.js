// The search of the documentation. No module: pages that are opened from a disk cannot load modules.

(() => {
  const SHOWN = 12, AROUND = 60;
  const field = document.getElementById("docs-search");
  const found = document.getElementById("docs-found");
  let sections = null;

  const load = async () => {
    if (window.drafthouseDocs) return window.drafthouseDocs.map((each) => ({ ...each, at: field.dataset.index + each.at }));
    const answer = await fetch(field.dataset.index);
    return (await answer.json()).sections;
  };

  const score = (section, words) => {
    let sum = 0;
    for (const word of words) {
      const at = (text) => text.toLowerCase().includes(word);
      const worth = 8 * at(section.page) + 5 * at(section.heading) + 1 * at(section.words);
      if (!worth) return 0;
      sum += worth;
    }
    return sum;
  };

  const excerpt = (section, word) => {
    const at = section.words.toLowerCase().indexOf(word);
    const start = Math.max(0, at - AROUND);
    return (start ? "…" : "") + section.words.slice(start, start + 2 * AROUND) + "…";
  };

  const line = (section, word) => {
    const item = document.createElement("li"), link = document.createElement("a"), words = document.createElement("p");
    link.href = section.at;
    link.textContent = section.heading && section.heading !== section.page ? `${section.page} · ${section.heading}` : section.page;
    words.textContent = excerpt(section, word);
    item.append(link, words);
    return item;
  };

  const show = async () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.hidden = !words.length;
    sections ??= await load();
    const ranked = sections.map((section) => [score(section, words), section]).filter(([worth]) => worth);
    ranked.sort(([a], [b]) => b - a);
    const lines = ranked.slice(0, SHOWN).map(([, section]) => line(section, words[0]));
    if (!lines.length) lines.push(Object.assign(document.createElement("li"), { textContent: "Nothing found." }));
    found.replaceChildren(...lines);
  };

  field.addEventListener("input", show);
})();
