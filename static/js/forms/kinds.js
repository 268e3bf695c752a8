// The form of a study: fields that the chosen kind does not take are hidden and not sent.

const kind = document.querySelector("select[name=kind]");
const groups = [...document.querySelectorAll("[data-kinds]")];

function show() {
  for (const group of groups) {
    group.hidden = !group.dataset.kinds.split(" ").includes(kind.value);
    for (const field of group.querySelectorAll("input, select, textarea")) field.disabled = group.hidden;
  }
}

kind.addEventListener("change", show);
show(); // a browser may have restored another kind than the page came with
