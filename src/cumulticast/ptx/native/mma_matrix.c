/* ldmatrix, stmatrix, movmatrix: lanes give the addresses of rows of 16 bytes, and share what stands there.
 *
 * b16: eight rows of eight elements a matrix; lane 4g + t has elements 2t and 2t + 1 of row g, with .trans of column g.
 * b8 (always .trans), as CuTe's SM100_U8x8_LDSM_T and SM100_U8x4_STSM_T copy: byte b of a lane's register comes from column
 * g + 8 (b / 2); of the 16 rows that ldmatrix.m16n16 reads, from row 4t + 2r + b % 2 (r: the matrix' register), of the 8
 * that stmatrix.m16n8 writes, to row 2t + b % 2. */
#include "mma.h"

/* Numbered as Layout in lower/matrix.py. */
enum layout { PLAIN, TRANSPOSED, BYTES };

/* Where half `part` of a lane's register stands: in row `row` of its matrix at byte `at`. */
struct spot { uint32_t row, at; };

static inline struct spot spot_of(enum layout layout, uint32_t lane, uint32_t part) {
    const uint32_t g = lane / 4, t = lane % 4;
    if (layout == PLAIN) return (struct spot){g, 4 * t + 2 * part};
    return (struct spot){2 * t + part, 2 * g};
}

static void rows_of(struct ptx_warp *warp, uint32_t number, uint32_t count, uint32_t what, const uint64_t *address,
                    char **row) {
    const uint32_t lanes = count >= PTX_LANES ? UINT32_MAX : (1u << count) - 1;
    ptx_places(warp, number, lanes, what, address, row);
    if (PTX_WHAT_SPACE(what) != PTX_GENERIC) return;
    PTX_EACH_LANE(lane, lanes) if (ptx_is_global(warp, address[lane]))
        ptx_fail(warp, number, PTX_ILLEGAL_ADDRESS, lane, address[lane],
                 "a matrix instruction reaches shared memory only, and this address is one of global memory");
}

/* Move one register of all lanes from or to eight rows. */
static void move_halves(uint32_t *registers, char *const *row, enum layout layout, int store) {
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        for (uint32_t part = 0; part < 2; part++) {
            const struct spot spot = spot_of(layout, lane, part);
            char *memory = row[spot.row] + spot.at, *own = (char *)(registers + lane) + 2 * part;
            memcpy(store ? memory : own, store ? own : memory, 2);
        }
}

static void move_bytes(uint32_t *registers, char *const *row, uint32_t step, int store) {
    for (uint32_t lane = 0; lane < PTX_LANES; lane++)
        for (uint32_t b = 0; b < 4; b++) {
            char *memory = row[step * (lane % 4) + b % 2] + lane / 4 + 8 * (b / 2), *own = (char *)(registers + lane) + b;
            *(store ? memory : own) = *(store ? own : memory);
        }
}

/* `count` registers of every lane; a matrix of m16n16 fills two. */
void ptx_ldmatrix(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, uint32_t count, uint32_t layout,
                  const uint64_t *address, uint32_t *registers) {
    char *row[PTX_LANES];
    if (!mma_begins(warp, number, active)) return;
    rows_of(warp, number, 8 * count, what, address, row);
    for (uint32_t r = 0; r < count; r++, registers += PTX_LANES)
        if (layout == BYTES) move_bytes(registers, row + r / 2 * 16 + r % 2 * 2, 4, 0);
        else move_halves(registers, row + 8 * r, layout, 0);
}

void ptx_stmatrix(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, uint32_t count, uint32_t layout,
                  const uint64_t *address, uint32_t *registers) {
    char *row[PTX_LANES];
    if (!mma_begins(warp, number, active)) return;
    rows_of(warp, number, 8 * count, what, address, row);
    for (uint32_t r = 0; r < count; r++, registers += PTX_LANES)
        if (layout == BYTES) move_bytes(registers, row + 8 * r, 2, 1);
        else move_halves(registers, row + 8 * r, layout, 1);
}

/* The transpose of a matrix of b16. */
void ptx_movmatrix(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t *d, const uint32_t *a) {
    uint32_t from[PTX_LANES];
    char *row[8];
    if (!mma_begins(warp, number, active)) return;
    memcpy(from, a, sizeof from); /* row g is lanes 4g to 4g + 3 */
    for (uint32_t g = 0; g < 8; g++) row[g] = (char *)(from + 4 * g);
    move_halves(d, row, TRANSPOSED, 0);
}
