// Runs before the first paint: that there is script, and the remembered choice of colours.
document.documentElement.dataset.js = '';
try {
  const chosen = localStorage.getItem('miles-report-theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch {
  // storage is switched off: the system's choice stands
}
