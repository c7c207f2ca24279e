// Functions of JavaScript that have libuv take its lock.
const fs = require('fs');

function leaf(number) {
    fs.stat('/nothing/' + number, () => {});
}

function middle(times) {
    for (let number = 0; number < times; number++) leaf(number);
}

middle(20);
