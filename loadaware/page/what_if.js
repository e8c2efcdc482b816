/** Where would this manifest go? */
import { askJson } from "./api.js";
import { explanation } from "./decision_panel.js";
import { announce, byId, bytesText, coresText, el } from "./dom.js";
import { on, state } from "./state.js";

const EXAMPLE = `apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
spec:
  containers:
  - name: web
    image: shop/web:1
    resources:
      requests: {cpu: 500m, memory: 512Mi}
`;

export function startWhatIf() {
  const [text, button, profile] = [byId("manifest"), byId("ask"), byId("what-if-profile")];
  text.value = EXAMPLE;
  button.addEventListener("click", () => answer(text.value, profile.value));
  text.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && answer(text.value, profile.value));
  on("hello", () => {
    const named = state.hello.profiles.filter((each) => !each.shadow).map((each) => el("option", { value: each.name, text: each.name }));
    profile.replaceChildren(el("option", { value: "", text: "the pod's own" }), ...named);
  });
  byId("what-if-answer").append(el("p", { class: "hint", text: "The answer comes here: the node that would win, why, and what the others lack." }));
}

async function answer(manifest, profile) {
  const place = byId("what-if-answer");
  const button = byId("ask");
  button.disabled = true;
  try {
    const told = await askJson(`what-if${profile ? `?profile=${encodeURIComponent(profile)}` : ""}`, { method: "POST", body: manifest });
    place.replaceChildren(...shown(told));
    announce(told.sentence);
  } catch (error) {
    place.replaceChildren(el("p", { class: "problem", role: "alert", text: error.message }));
  } finally {
    button.disabled = false;
  }
}

function shown(told) {
  const { cpu, memory } = told.requests;
  const asks = cpu || memory ? `It requests ${coresText(cpu ?? 0)} of CPU and ${bytesText(memory ?? 0)}. ` : "It requests nothing. ";
  const room = told.withoutRoom ? `${told.withoutRoom} nodes have no room for that and are left out. ` : "";
  const title = el("h2", { text: told.nodes[0] ? `${told.pod} would go to ${told.nodes[0].node}` : `${told.pod} would go nowhere` });
  const limits = el("p", { class: "hint", text: `${asks}${room}Taints, affinity and volumes are kube-scheduler's to judge, and are not looked at here.` });
  return [el("div", { class: "head" }, title), ...explanation(told), limits];
}
