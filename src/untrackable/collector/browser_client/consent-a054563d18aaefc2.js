var p="untrackable-consent",y="untrackable",w=`
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
`;function k(){try{return JSON.parse(localStorage.getItem(y))??{}}catch{return{}}}var x=d=>k()[d]===!0;function t(d,m,...o){let a=document.createElement(d);for(let[n,i]of Object.entries(m))n.startsWith("on")?a[n]=i:i!==!1&&a.setAttribute(n,i===!0?"":String(i));return a.append(...o),a}var v=class extends HTMLElement{show(m,o,a){let n=this.shadowRoot??this.attachShadow({mode:"open"}),i=new CSSStyleSheet;i.replaceSync(w),n.adoptedStyleSheets=[i];let s=t("p",{role:"status",tabindex:-1}),l=t("div",{id:"look",role:"group","aria-label":"What is sent",hidden:!0,tabindex:-1},...m.flatMap(({question:r,says:e,report:u,budget:f})=>[t("h3",{},m[1]?r:"What is sent"),t("p",{},e),t("p",{},"The bytes, with noise for this look only: ",t("code",{},u)),t("p",{},f)])),c=(r,e,u={})=>t("button",{type:"button",onclick:e,...u},r),g=(r,e)=>c(r,async()=>{n.querySelector("section").replaceChildren(s),s.focus(),s.textContent=await a(e),this.hasAttribute("floating")&&s.after(c("Close",()=>this.remove()))});n.replaceChildren(t("section",{"aria-labelledby":"head"},t("h2",{id:"head"},o===void 0?"May we ask you once?":o?"You take part":"You do not take part"),t("slot",{}),...m.flatMap(({question:r,words:e})=>[t("h3",{},r),t("ul",{},...e.map(u=>t("li",{},u)))]),t("p",{},"If you stop, this browser forgets your answer and does not answer later."),l,t("nav",{"aria-label":"Your choice"},...o?[]:[g("Take part",!0)],...o===!1?[]:[g(o?"Stop":"No",!1)],c("What is sent?",function(){l.hidden=!l.hidden,this.setAttribute("aria-expanded",String(!l.hidden)),l.hidden||l.focus()},{"aria-expanded":"false","aria-controls":"look"})))),this.hidden=!1}};async function S(d,m,o){customElements.get(p)??customElements.define(p,v);let a=Object.keys(d),n=a.filter(x),i=o(n).then(()=>{},e=>()=>{throw e}),s=a.filter(e=>!(e in k())),l=document.querySelector(p),c=s.length||!l?.hasAttribute("settings")?s:a,r=(await Promise.all(c.map(async e=>d[e].preview(await m(e))))).filter(e=>e!==null);if(r.length){let e=l??document.body.appendChild(t(p,{floating:!0}));await new Promise((u,f)=>{e.show(r,s.length?void 0:!!n.length,async b=>{localStorage.setItem(y,JSON.stringify({...k(),...Object.fromEntries(c.map(h=>[h,b]))}));try{return b?await o(c):await Promise.all(n.filter(h=>c.includes(h)).map(h=>d[h].leave())),u(),b?"Thank you. You take part.":"Nothing is sent, and you are not asked again."}catch(h){return f(h),`Nothing is sent: ${h.message}.`}}),s.length||u()})}(await i)?.()}export{x as agreed,S as ask};
