// The page, put together; its charts are drawn once they have their width.

const sections = [curvesSection(), scoresSection(), videosSection(), profilesSection(), updatesSection(), settingsSection(), speedSection()].filter(Boolean);
const count = (number, one, several) => `${number} ${number === 1 ? one : several}`;
document.getElementById("about").textContent = [
  count(runs().length, "run", "runs"),
  [...new Set(data.groups.map(group => group.algorithm.toUpperCase()))].join(", "),
  data.envs.map(env => env.id).join(", "),
  `made by rust_trainer ${data.program}`,
].join(" · ");
for (const {section} of sections) {
  document.querySelector("main").append(section);
  document.querySelector("nav").append(make("a", {href: `#${section.id}`}, section.querySelector("h2").textContent));
}
for (const {draw} of sections) draw?.();
document.documentElement.dataset.drawn = "true";
