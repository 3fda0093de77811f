// Before anything is shown: the colour scheme that this reader chose.
document.body.dataset.theme = localStorage.getItem("theme") || "auto";
