// The page's words in the reader's language. The English words are the keys; words-LANGUAGE.js has their translations,
// and only that of the chosen language is loaded. What it lacks is shown in English.

/// The languages by their tags (BCP 47), each with its own name.
export const languages = {
    en: "English", de: "Deutsch", es: "Español", fr: "Français", pl: "Polski", pt: "Português (Brasil)", ja: "日本語", "zh-Hans": "简体中文",
};

/// Languages for tests, whose tags are the usual ones: English with accents and longer by 40 %, and the same from right
/// to left. A plain English word is then one that is in no catalogue.
const pseudo = ["en-XA", "ar-XB"];

/// The chosen language: this browser's setting of the page, or the first one that its reader prefers and the page has.
function choose() {
    const chosen = localStorage.language;
    if (pseudo.includes(chosen) || Object.hasOwn(languages, chosen)) return chosen;
    // The script counts, not the country: "zh-TW" is not "zh-Hans", and "pt-PT" is "pt".
    const written = (tag) => {
        const { language, script } = new Intl.Locale(tag).maximize();
        return `${language}-${script}`;
    };
    for (const tag of navigator.languages) {
        const known = Object.keys(languages).find((language) => written(language) === written(tag));
        if (known) return known;
    }
    return "en";
}

async function load() {
    if (language === "en") return {};
    if (!pseudo.includes(language)) return (await import(`/words-${language}.js`)).default;
    const keys = (await import("/words-en.js")).default;
    return Object.fromEntries(keys.map((key) => [key, key.split("|").map(accent).join("|")]));
}

/// Gives each letter an accent and doubles the vowels, but leaves the names of values.
function accent(text) {
    const accented = "áƀçđéƒĝĥíĵķļɱñóƥɋŕšţúṽŵẋýž";
    const long = text.replace(/\{\w+\}|[a-z]/gi, (part) => {
        if (part.length > 1) return part;
        const letter = accented[part.toLowerCase().charCodeAt(0) - 97];
        const one = part === part.toLowerCase() ? letter : letter.toUpperCase();
        return /[aeiou]/i.test(part) ? one + letter : one;
    });
    // Right-to-left override, as if the letters were Arabic.
    return isRightToLeft ? `\u202e${long}\u202c` : long;
}

let language = choose();
/// Whether lines run from right to left.
export const isRightToLeft = language === "ar-XB";

let words = {};
// A page without its catalogue is in English.
try { words = await load(); } catch { language = "en"; }

/// The tag for numbers and plurals, which the languages for tests have from English.
const locale = pseudo.includes(language) ? "en" : language;
const rules = new Intl.PluralRules(locale);
const forms = ["zero", "one", "two", "few", "many", "other"].filter((form) => rules.resolvedOptions().pluralCategories.includes(form));

/// Translates a text. Only literal texts, so that a test finds them; words from Guise, such as the titles of masks,
/// too. @param text the key: English, with values as {name}. If it has plural forms, "{count} mask|{count} masks".
export function t(text, values = {}) {
    const found = Object.hasOwn(words, text) ? words[text] : text;
    // In the order of `forms`; French, Portuguese and Spanish have none for millions.
    const known = "count" in values ? found.split("|") : [found];
    return known[Math.min(forms.indexOf(rules.select(values.count ?? 0)), known.length - 1)].replace(/\{(\w+)\}/g, (all, name) => {
        if (!Object.hasOwn(values, name)) return all;
        const value = typeof values[name] === "number" ? number(values[name]) : values[name];
        // Names in another direction don't change that of the words around them.
        return isRightToLeft ? `\u2068${value}\u2069` : value;
    });
}

/// The language of a message from Guise, for an element's `lang`: English if it is in no catalogue.
export const languageOf = (message) => Object.hasOwn(words, message) ? language : "en";

/// Formats a number, with options of `Intl.NumberFormat`.
export const number = (value, options) => new Intl.NumberFormat(locale, options).format(value);
/// Formats a number with a fixed count of decimals.
export const fixed = (value, digits) => number(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
/// Formats a share of 1.
export const percent = (value) => number(value, { style: "percent" });
/// Joins words to a list.
export const list = (texts) => texts.join(t(", "));

/// The step that an arrow key takes along a line of elements: 1 to the next, -1 to the previous, 0 for other keys.
export const arrowStep = (key) => ({ ArrowLeft: -1, ArrowRight: 1 }[key] ?? 0) * (isRightToLeft ? -1 : 1);

/// Translates the texts of an element and their attributes.
function translate(root) {
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(/\S(.*\S)?/s, (text) => t(text));
    for (const name of ["title", "aria-label", "placeholder", "alt"]) {
        for (const element of root.querySelectorAll(`[${name}]`)) element.setAttribute(name, t(element.getAttribute(name)));
    }
}

document.documentElement.lang = language;
document.documentElement.dir = isRightToLeft ? "rtl" : "ltr";
if (language !== "en") translate(document.body);
