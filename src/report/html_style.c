/* The looks of the page, and the script for those who hover. */
#include "report/html_page.h"

/* Cool colours compute, warm ones are messages. k0 to k9: pl_html_kind; i0 to i5: items of
 * memory. */
// clang-format off
const char *const pl_html_style[] = {
    ":root{--bg:#fff;--fg:#1b1f24;--dim:#68707a;--line:#dfe3e8;--soft:#f4f6f8;--all:#c3c9d0;"
    "--red:#c62828;--live:#7f9fc4;"
    "--k0:#3d73b4;--k1:#4f9d95;--k2:#7d62b0;--k3:#98a2ad;--k4:#cf4a4a;--k5:#e08a2b;--k6:#d8b12f;"
    "--k7:#b8529b;--k8:#94704a;--k9:#c9806b;"
    "--i0:#35587f;--i1:#7d62b0;--i2:#4f9d95;--i3:#6f9dd0;--i4:#e08a2b;--i5:#a3acb6}\n",
    "@media(prefers-color-scheme:dark){:root{--bg:#15181c;--fg:#e3e6ea;--dim:#969fa9;"
    "--line:#30363d;--soft:#1d2126;--all:#5b636d;--red:#ff6b6b;--live:#53779f;"
    "--k0:#4a83c8;--k1:#4aa198;--k2:#8d72c4;--k3:#727c87;--k4:#d85757;--k5:#d98a38;--k6:#c9a83a;"
    "--k7:#c063a6;--k8:#a07c55;--k9:#c9806b;"
    "--i0:#4b74a3;--i1:#8d72c4;--i2:#4aa198;--i3:#79a8dc;--i4:#d98a38;--i5:#7a838d}}\n",
    "*{box-sizing:border-box}\n",
    "body{margin:0 auto;padding:28px 32px 60px;max-width:1244px;background:var(--bg);"
    "color:var(--fg);font:14px/1.45 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',"
    "sans-serif;font-variant-numeric:tabular-nums}\n",
    "h1{font-size:24px;line-height:1.2;margin:0 0 4px;font-weight:600}\n",
    "h2{font-size:17px;margin:36px 0 8px;padding-top:10px;border-top:1px solid var(--line);"
    "font-weight:600}\n",
    "h3{font-size:14px;margin:18px 0 6px;font-weight:600}\n",
    "p{margin:4px 0 8px}.dim,em{color:var(--dim);font-weight:400}em{font-style:normal;"
    "display:inline-block;min-width:62px;margin-left:10px;text-align:right}\n",
    "a{color:inherit;text-underline-offset:3px}\n",
    "code{font:12px/1.35 ui-monospace,'SFMono-Regular',Menlo,Consolas,'DejaVu Sans Mono',"
    "monospace;overflow-wrap:anywhere}\n",
    "article{margin-top:44px;border-top:3px solid var(--fg);padding-top:14px}\n",
    "article:first-of-type{margin-top:0;border:0;padding:0}.several article:first-of-type{"
    "margin-top:44px;border-top:3px solid var(--fg);padding-top:14px}\n",
    "dl{display:flex;flex-wrap:wrap;gap:10px 44px;margin:20px 0 18px}dl div{min-width:110px}\n",
    "dt{color:var(--dim);font-size:12px}dd{margin:0;font-size:21px;font-weight:600}\n",
    "dd small{display:block;font-size:12px;font-weight:400;color:var(--dim)}\n",
    "svg{display:block}svg.wide{width:100%;height:auto}.bed{fill:var(--soft)}\n",
    "svg text{font-size:11px;fill:var(--dim)}text.lane{text-anchor:end}"
    "text.on{fill:#fff;font-size:10px;pointer-events:none}text.o5,"
    "text.o6{fill:#1b1f24}text.note{fill:var(--fg)}\n",
    ".axis text{text-anchor:middle}.axis.left text{text-anchor:end}"
    ".axis path{stroke:var(--line);stroke-opacity:.8;fill:none}\n",
    ".limit{stroke:var(--red);stroke-width:1.5;fill:none}.live{fill:var(--live)}"
    ".before,.between{stroke:var(--dim);stroke-width:1.3;fill:none}.between{stroke-dasharray:1 2}"
    "path.peak{stroke:var(--fg);stroke-dasharray:2 2}circle.peak{fill:var(--fg)}\n",
    ".all{fill:var(--all)}.hatch{stroke:var(--fg);stroke-width:1.4}.sum{pointer-events:none}\n",
    ".key{display:flex;flex-wrap:wrap;gap:3px 20px;margin:8px 0}.key span{display:inline-flex;"
    "align-items:center;gap:6px}.key data,.key span{white-space:nowrap}"
    ".key data{color:var(--dim)}\n",
    "td i,.key i{display:inline-block;width:10px;height:10px;border-radius:2px}"
    "td>i:first-child{margin-right:7px}td>i:not([class]){width:auto;height:auto}\n",
    ".cards{display:grid;grid-template-columns:repeat(3,1fr);gap:8px}\n",
    ".card{display:flex;gap:12px;background:var(--soft);border-radius:5px;padding:8px 10px;"
    "break-inside:avoid}.what{flex:1;min-width:0;overflow-wrap:anywhere;font-size:13px}\n",
    ".what b{font-weight:600}.what i,td>i:not([class]){font-style:normal;color:var(--dim);"
    "margin-left:6px}\n",
    ".all-of{margin:10px 0 0;font-size:13px;line-height:1.7}.all-of>span+span{white-space:nowrap;"
    "margin-right:18px}.all-of b{font-weight:600}.all-of i{font-style:normal;color:var(--dim);"
    "margin-left:5px}.all-of data{color:var(--dim)}\n",
    ".pic{width:56px;font-size:12px;color:var(--dim)}.pic svg{margin-top:2px}.pic small,"
    ".two small{display:block;font-size:10px;line-height:1.2;max-width:56px;color:var(--dim)}\n",
    "table{border-collapse:collapse;margin:6px 0}table.full{width:100%}\n",
    "th{text-align:left;font-weight:400;color:var(--dim);font-size:12px}"
    "th,td{padding:3px 18px 3px 0;border-bottom:1px solid var(--line);vertical-align:middle}\n",
    ".n{text-align:right;white-space:nowrap}.least>data{font-weight:700}"
    "tfoot td{border:0;font-weight:600}tr.dim td{color:var(--dim)}\n",
    ".side td,.side th{padding-right:0}.side th a{color:var(--fg);font-weight:600}"
    ".side .n:nth-child(2){padding-right:0}\n",
    ".pair{display:flex;gap:56px;align-items:flex-start;flex-wrap:wrap}.two{display:flex;gap:6px;"
    "align-items:center}.two code{margin-left:4px}.keys{display:flex;gap:14px;align-items:center}"
    ".keys>b{min-width:90px}.row{margin:8px 0 2px}\n",
    ".pick span{cursor:pointer}.pick .off{opacity:.4}svg .off{opacity:.1}\n",
    "#tip{position:fixed;z-index:9;display:none;max-width:420px;padding:5px 9px;"
    "background:var(--fg);color:var(--bg);border-radius:4px;font-size:12px;white-space:pre-line;"
    "pointer-events:none}\n",
    "details{margin:8px 0}summary{cursor:pointer;color:var(--dim)}\n",
    "@media(max-width:980px){.cards{grid-template-columns:1fr 1fr}}"
    "@media(max-width:680px){.cards{grid-template-columns:1fr}body{padding:16px}"
    "h1{font-size:20px;overflow-wrap:anywhere}dl{gap:10px 24px}"
    ".roll,table.full{display:block;overflow-x:auto}.roll svg.wide{width:900px}"
    ".side td,.side th,.side .n:nth-child(2){padding-right:10px}.pair{overflow-x:auto}"
    ".side em{display:block}td code{overflow-wrap:normal}}\n",
    "@page{size:A4;margin:12mm}"
    "@media print{body{padding:0;max-width:none;zoom:.62;print-color-adjust:exact;"
    "-webkit-print-color-adjust:exact}.cards{grid-template-columns:repeat(3,1fr)}"
    "h1,h2,h3,.key{break-after:avoid}svg,tr,.pair,.card{break-inside:avoid}"
    "tfoot{display:table-row-group}article{break-before:page}"
    "article:first-of-type{break-before:auto}#tip{display:none}}\n",
    "@media print and (prefers-color-scheme:dark){:root{--bg:#fff;--fg:#1b1f24;--dim:#68707a;"
    "--line:#dfe3e8;--soft:#f4f6f8;--all:#c3c9d0}}\n",
    NULL,
};

/* Titles become a box beside the pointer, without the browser's delay; a click on a kind of step
 * shows only that kind. Without a script the titles are the browser's. */
const char *const pl_html_script[] = {
    "(function(){var tip=document.createElement('div'),said=new WeakMap();tip.id='tip';"
    "document.body.appendChild(tip);\n",
    "function text(at){for(;at&&at!==document.body;at=at.parentNode){if(said.has(at))"
    "return said.get(at);var t=at.querySelector&&at.namespaceURI.endsWith('svg')&&"
    "at.querySelector(':scope>title');if(t){said.set(at,t.textContent);t.remove();"
    "return said.get(at)}}return ''}\n",
    "document.addEventListener('mousemove',function(e){var s=text(e.target);"
    "tip.style.display=s?'block':'none';if(!s)return;tip.textContent=s;"
    "var x=e.clientX+14,y=e.clientY+16,w=tip.offsetWidth,h=tip.offsetHeight;"
    "if(x+w>innerWidth-8)x=e.clientX-w-10;if(y+h>innerHeight-8)y=e.clientY-h-10;"
    "tip.style.left=Math.max(4,x)+'px';tip.style.top=Math.max(4,y)+'px'});\n",
    "document.addEventListener('click',function(e){var k=e.target.closest('.pick span');"
    "if(!k)return;var on=!k.classList.contains('on'),of=k.closest('section');"
    "of.querySelectorAll('.pick span').forEach(function(s){s.classList.remove('on');"
    "s.classList.toggle('off',on&&s!==k)});if(on)k.classList.add('on');"
    "of.querySelectorAll('svg path[class^=k]').forEach(function(b){"
    "b.classList.toggle('off',on&&!b.classList.contains(k.dataset.k))})});})();\n",
    NULL,
};
// clang-format on
