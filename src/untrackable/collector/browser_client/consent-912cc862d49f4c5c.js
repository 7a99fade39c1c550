var p="untrackable-consent",x="untrackable",S=`
:host {
  --back: var(--untrackable-background, Canvas);
  --ink: var(--untrackable-color, CanvasText);
  --line: var(--untrackable-border, color-mix(in srgb, var(--ink) 45%, var(--back)));
  --round: var(--untrackable-radius, .5rem);
  display: block;
  box-sizing: border-box;
  max-width: var(--untrackable-width, 40rem);
  padding: 1.25rem;
  border: 1px solid var(--line);
  border-radius: var(--round);
  background: var(--back);
  color: var(--ink);
  font: var(--untrackable-font, 1rem/1.5 system-ui, sans-serif);
}
:host([hidden]) { display: none }
:host([floating]) { position: fixed; inset: auto 1rem 1rem; z-index: 9999; max-height: 85vh; overflow: auto; margin: auto }
h2, h3, p, ul { margin: 0 0 .75rem; text-wrap: pretty }
h2 { font-size: 1.25em; line-height: 1.25 }
h3 { font-size: 1em }
ul { padding: 0 0 0 1.1em }
li { margin: .25rem 0 }
nav { display: flex; flex-wrap: wrap; gap: .5rem }
:host([floating]) nav { position: sticky; bottom: -1.25rem; margin: 0 -1.25rem -1.25rem; padding: .75rem 1.25rem 1.25rem; background: var(--back) }
button {
  flex: 1 1 8rem;
  min-height: 2.75rem;
  padding: .25rem 1rem;
  border: 1px solid var(--ink);
  border-radius: var(--round);
  background: none;
  color: inherit;
  font: inherit;
  cursor: pointer;
}
button:hover { background: color-mix(in srgb, var(--ink) 10%, var(--back)) }
:focus-visible { outline: 3px solid var(--untrackable-accent, Highlight); outline-offset: 2px }
[role=group] { margin: 1.25rem 0 }
code { overflow-wrap: anywhere; font-size: .875em }
:last-child { margin-bottom: 0 }
`;function v(){try{return JSON.parse(localStorage.getItem(x))??{}}catch{return{}}}var w=d=>v()[d]===!0;function t(d,u,...r){let n=document.createElement(d);for(let[o,a]of Object.entries(u))o.startsWith("on")?n[o]=a:a!==!1&&n.setAttribute(o,a===!0?"":String(a));return n.append(...r),n}var y=class extends HTMLElement{show(u,r,n){let o=this.shadowRoot??this.attachShadow({mode:"open"}),a=new CSSStyleSheet;a.replaceSync(S),o.adoptedStyleSheets=[a];let s=t("p",{role:"status",tabindex:-1}),l=t("div",{id:"look",role:"group","aria-label":"What is sent",hidden:!0,tabindex:-1},...u.flatMap(({question:i,says:e,report:c,budget:b})=>[t("h3",{},u[1]?i:"What is sent"),t("p",{},e),t("p",{},"The bytes, with noise for this look only: ",t("code",{},c)),t("p",{},b)])),h=(i,e,c={})=>t("button",{type:"button",onclick:e,...c},i),g=(i,e)=>h(i,async()=>{o.querySelector("section").replaceChildren(s),s.focus(),s.textContent=await n(e),this.hasAttribute("floating")&&s.after(h("Close",()=>this.remove()))});o.replaceChildren(t("section",{"aria-labelledby":"head"},t("h2",{id:"head"},r===void 0?"May we ask you once?":r?"You take part":"You do not take part"),t("slot",{}),...u.flatMap(({question:i,words:e})=>[t("h3",{},i),t("ul",{},...e.map(c=>t("li",{},c)))]),t("p",{},"If you stop, this browser forgets your answer and does not answer later."),l,t("nav",{"aria-label":"Your choice"},...r?[]:[g("Take part",!0)],...r===!1?[]:[g(r?"Stop":"No",!1)],h("What is sent?",function(){l.hidden=!l.hidden,this.setAttribute("aria-expanded",String(!l.hidden)),l.hidden||l.focus()},{"aria-expanded":"false","aria-controls":"look"})))),this.hidden=!1}};async function C(d,u,r){customElements.get(p)??customElements.define(p,y);let n=Object.keys(d),o=n.filter(w),a=await r(o).then(()=>{},e=>e),s=n.filter(e=>!(e in v())),l=document.querySelector(p),h=s.length||!l?.hasAttribute("settings")?s:n,i=(await Promise.all(h.map(async e=>d[e].preview(await u(e))))).filter(e=>e!==null);if(i.length){let e=l??document.body.appendChild(t(p,{floating:!0}));await new Promise((c,b)=>{e.show(i,s.length?void 0:!!o.length,async k=>{try{let f=Object.fromEntries(h.map(m=>[m,k]));return localStorage.setItem(x,JSON.stringify({...v(),...f})),k?await r(n.filter(w),!0):await Promise.all(o.filter(m=>h.includes(m)).map(m=>d[m].leave())),a=void 0,c(),k?"Thank you. You take part.":"Nothing is sent, and you are not asked again."}catch(f){return b(f),`Nothing is sent: ${f.message}.`}}),s.length||c()})}if(a)throw a}export{w as agreed,C as ask};
