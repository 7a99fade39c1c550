// Searches while somebody types: the server renders the answers, as it does without a script.
const form = document.querySelector("[data-search]");
const field = form?.querySelector("[type=search]");
let newest = 0;

async function search() {
  const mine = ++newest;
  await new Promise((resolve) => setTimeout(resolve, 200));
  if (mine !== newest) return;
  const asked = new URLSearchParams(new FormData(form));
  asked.set("part", "answers");
  const response = await fetch(`${form.action}?${asked}`);
  if (mine !== newest || !response.ok) return;
  const found = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("answers");
  if (found) document.getElementById("answers").replaceWith(found);
}

field?.addEventListener("input", search);
