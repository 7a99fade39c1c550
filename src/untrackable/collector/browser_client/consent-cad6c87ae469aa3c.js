var f="untrackable-consent",w="untrackable",x=`
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
`;function k(){try{return JSON.parse(localStorage.getItem(w))??{}}catch{return{}}}var y=d=>k()[d]===!0;function t(d,h,...r){let n=document.createElement(d);for(let[a,o]of Object.entries(h))a.startsWith("on")?n[a]=o:o!==!1&&n.setAttribute(a,o===!0?"":String(o));return n.append(...r),n}var v=class extends HTMLElement{show(h,r,n){let a=this.shadowRoot??this.attachShadow({mode:"open"}),o=new CSSStyleSheet;o.replaceSync(x),a.adoptedStyleSheets=[o];let s=t("p",{role:"status",tabindex:-1}),l=t("div",{id:"look",role:"group","aria-label":"What is sent",hidden:!0,tabindex:-1},...h.flatMap(({question:i,says:e,report:c,budget:g})=>[t("h3",{},h[1]?i:"What is sent"),t("p",{},e),t("p",{},"The bytes, with noise for this look only: ",t("code",{},c)),t("p",{},g)])),m=(i,e,c={})=>t("button",{type:"button",onclick:e,...c},i),p=(i,e)=>m(i,async()=>{a.querySelector("section").replaceChildren(s),s.focus(),s.textContent=await n(e),this.hasAttribute("floating")&&s.after(m("Close",()=>this.remove()))});a.replaceChildren(t("section",{"aria-labelledby":"head"},t("h2",{id:"head"},r===void 0?"May we ask you once?":r?"You take part":"You do not take part"),t("slot",{}),...h.flatMap(({question:i,words:e})=>[t("h3",{},i),t("ul",{},...e.map(c=>t("li",{},c)))]),t("p",{},"If you stop, this browser forgets your answer and does not answer later."),l,t("nav",{"aria-label":"Your choice"},...r?[]:[p("Take part",!0)],...r===!1?[]:[p(r?"Stop":"No",!1)],m("What is sent?",function(){l.hidden=!l.hidden,this.setAttribute("aria-expanded",String(!l.hidden)),l.hidden||l.focus()},{"aria-expanded":"false","aria-controls":"look"})))),this.hidden=!1}};async function S(d,h,r){customElements.get(f)??customElements.define(f,v);let n=Object.keys(d),a=n.filter(y),o=await r(a).then(()=>{},e=>e),s=n.filter(e=>!(e in k())),l=document.querySelector(f),m=s.length||!l?.hasAttribute("settings")?s:n,i=(await Promise.all(m.map(async e=>d[e].preview(await h(e))))).filter(e=>e!==null);if(i.length){let e=l??document.body.appendChild(t(f,{floating:!0}));await new Promise((c,g)=>{e.show(i,s.length?void 0:!!a.length,async b=>{localStorage.setItem(w,JSON.stringify({...k(),...Object.fromEntries(m.map(u=>[u,b]))}));try{return b?await r(n.filter(y),!0):await Promise.all(a.filter(u=>m.includes(u)).map(u=>d[u].leave())),o=void 0,c(),b?"Thank you. You take part.":"Nothing is sent, and you are not asked again."}catch(u){return g(u),`Nothing is sent: ${u.message}.`}}),s.length||c()})}if(o)throw o}export{y as agreed,S as ask};
