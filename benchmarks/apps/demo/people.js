// People, tasks and sales for the demo pages.
const FIRST = "Ann Boris Carla Deniz Emil Farah Greta Hugo Ines Jonas Kira Leo Mina Nils Olga Pavel".split(" ");
const LAST = "Abel Brandt Costa Dahl Eriksen Fontaine Gruber Hansen Ivanov Jansen Keller Lopez Moreau".split(" ");
const TEAMS = ["Orchard", "Cellar", "Shop", "Office", "Transport"];
const PEOPLE = Array.from({ length: 60 }, (_, i) => {
  const name = `${FIRST[(i * 7) % FIRST.length]} ${LAST[(i * 5) % LAST.length]}`;
  return {
    id: i + 1, name, email: `${name.toLowerCase().replace(" ", ".")}@example.org`, team: TEAMS[(i * 3) % TEAMS.length],
    started: `20${10 + (i % 14)}-0${1 + (i % 9)}-1${i % 9}`, hours: 10 + ((i * 13) % 31), active: i % 4 !== 0,
  };
});
