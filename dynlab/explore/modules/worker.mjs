// What a worker computes beside the page: the pictures of a textbook system, with the number of the question.

import { textbookPictures } from "./textbook.mjs";

self.onmessage = ({ data: { number, name, values } }) => self.postMessage({ number, pictures: textbookPictures(name, values) });
