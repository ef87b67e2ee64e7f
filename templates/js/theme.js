// Runs before the first paint: that there is script, and the remembered choice of colours.
document.documentElement.dataset.js = '';
addEventListener('error', event => {
  // A script of the page that cannot be had: what is for readers without script is for this reader too.
  if (event.target instanceof HTMLScriptElement && event.target.defer) delete document.documentElement.dataset.js;
}, true);
try {
  const chosen = localStorage.getItem('miles-report-theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch {
  // storage is switched off: the system's choice stands
}
