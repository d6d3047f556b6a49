#include "mylos/data/prepare/prepare_images.hpp"

#include <gtest/gtest.h>

#include "data/image_builders.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/samples.hpp"
#include "support/said.hpp"

namespace mylos::prepare_images_test {

using namespace testing_support;

bool has_decoders() {
  return !test::refusal_of([] {
            (void)prepare(PrepareImages{.folder = "/nowhere", .out = "/nowhere/o"});
          }).starts_with("this mylos was built without");
}

class PrepareImagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_decoders()) GTEST_SKIP() << "built without libpng and libjpeg-turbo";
    std::filesystem::create_directory(folder_ / "images");
  }
  /// The pixels of file i, 2 x 3 x 3, start with i.
  void draw_classes() const {
    python(
        drawing_in(folder_ / "images") +
        "for i, name in enumerate(['dog/b.png', 'dog/a.PNG', 'cat/z.png', 'cat/y.jpeg', 'ant/x.png']):\n"
        "    os.makedirs(os.path.dirname(name), exist_ok=True)\n    x = draw(2, 3, 3)\n    x[0, 0] = i\n"
        "    image(name.replace('jpeg', 'png'), x) if 'jpeg' not in name else image(name, x, quality=100)\n");
  }
  /// Returns the pixels of the image files in order, as rows of a file without labels.
  std::vector<std::string> prepare_flat(PrepareImages job = {}) const {
    job.folder = folder_ / "images";
    job.out = folder_ / "a.h5";
    job.labelled = false;
    return prepare(job);
  }
  std::string flat_error(PrepareImages job = {}) const {
    std::string message = test::refusal_of([&] { (void)prepare_flat(std::move(job)); });
    EXPECT_FALSE(std::filesystem::exists(folder_ / "a.h5") || std::filesystem::exists(folder_ / "a.h5.tmp"));
    for (std::size_t at; (at = message.find(folder_.path() + "/")) != std::string::npos;)
      message.erase(at, folder_.path().size() + 1);
    return message;
  }
  /// Returns the output of a script that finds the rows of the file in `rows`, shaped as images.
  std::string inspect(const std::string& script) const {
    return python(drawing_in(folder_ / "images") + "f = h5py.File('" + (folder_ / "a.h5") +
                  "')\nrows = f['inputs'][:].reshape(-1, *map(int, f.attrs['shape'].decode().split()))\n" +
                  script);
  }

  const TemporaryFolder folder_;
};

TEST_F(PrepareImagesTest, FoldersAreClassesInTheOrderOfTheirNames) {
  draw_classes();
  write_file(folder_ / "images/dog/readme.txt", "no image");
  const auto notes = prepare(PrepareImages{.folder = folder_ / "images", .out = folder_ / "a.h5"});
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(
      notes[0],
      (folder_ / "images") +
          ": 1 of what is in it is left alone: no folder of a class, or not called .png, .jpg or .jpeg");
  EXPECT_EQ(
      inspect("print(f.attrs['shape'].decode(), f.attrs['classes'], f['inputs'].dtype, f['labels'].dtype)\n"
              "print(f['class_names'][()].decode().split())\n"
              "names = {'ant': ['x.png'], 'cat': ['y.jpeg', 'z.png'], 'dog': ['a.PNG', 'b.png']}\n"
              "want = sorted((n.asarray(Image.open(c + '/' + name)).tobytes(), i) "
              "for i, c in enumerate(names) for name in names[c])\n"
              "print(want == sorted((row.tobytes(), int(l)) for row, l in zip(rows, f['labels'])))\n"
              "s = f['statistics/inputs']\nprint(n.allclose(s['std'], rows.reshape(5, "
              "-1).astype('f8').std(0)))\n"
              "s, x = f['statistics/channels'], rows.reshape(-1, 3).astype('f8')\n"
              "print(n.allclose(s['mean'], x.mean(0)), n.allclose(s['std'], x.std(0)), "
              "n.array_equal(s['min'], x.min(0)), n.array_equal(s['max'], x.max(0)))\n"),
      "2 3 3 3 uint8 int32\n['ant', 'cat', 'dog']\nTrue\nTrue\nTrue True True True\n");
  EXPECT_EQ(Dataset(folder_ / "a.h5").class_names(), (std::vector<std::string>{"ant", "cat", "dog"}));
  EXPECT_EQ(Dataset(folder_ / "a.h5").grid(), (std::vector<std::int64_t>{2, 3, 3}));
}

TEST_F(PrepareImagesTest, ANameOfAClassThatIsNoUtf8IsRefused) {
  draw_classes();
  std::filesystem::rename(folder_ / "images/ant", folder_ / "images/caf\xe9");
  const PrepareImages job{.folder = folder_ / "images", .out = folder_ / "a.h5"};
  EXPECT_TRUE(test::says(test::refusal_of([&] { (void)prepare(job); }), errors::bad_encoding,
                         {(folder_ / "images"), "'caf\\xE9'", "-8"}));
}

TEST_F(PrepareImagesTest, HiddenFoldersAreNoClassesAndOneWithoutImagesIsRefused) {
  draw_classes();
  std::filesystem::create_directory(folder_ / "images/.ipynb_checkpoints");
  std::filesystem::copy(folder_ / "images/ant/x.png", folder_ / "images/.ipynb_checkpoints/x.png");
  const PrepareImages job{.folder = folder_ / "images", .out = folder_ / "a.h5"};
  const auto notes = prepare(job);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with((folder_ / "images") + ": 1 of what is in it is left alone: "))
      << notes[0];
  EXPECT_EQ(Dataset(folder_ / "a.h5").class_names(), (std::vector<std::string>{"ant", "cat", "dog"}));
  EXPECT_EQ(Dataset(folder_ / "a.h5").samples(), 5);
  std::filesystem::create_directory(folder_ / "images/bear");
  write_file(folder_ / "images/bear/readme.txt", "no image");
  EXPECT_TRUE(test::says(test::refusal_of([&] { (void)prepare(job); }), errors::too_little_data,
                         {(folder_ / "images/bear"), "--classes-of"}));
}

TEST_F(PrepareImagesTest, TheFilesEndHasAllClasses) {
  python(drawing_in(folder_ / "images") +
         "for c in '0123':\n    os.mkdir(c)\n    for i in range(100): image(f'{c}/{i}.png', draw(1, 1))\n");
  (void)prepare(PrepareImages{.folder = folder_ / "images", .out = folder_ / "a.h5"});
  EXPECT_EQ(inspect("print(sorted(set(f['labels'][-40:])), (n.diff(f['labels'][:]) == 0).mean() < 0.4)"),
            "[0, 1, 2, 3] True\n");
}

TEST_F(PrepareImagesTest, EveryKindOfPngIsWhatItsPixelsSay) {
  python(
      drawing_in(folder_ / "images") +
      "plte = b''.join(bytes([i, 255 - i, 3 * i % 256]) for i in range(256))\n"
      "kinds = {}\nfor laced in (False, True):\n"
      "    for depth in (1, 2, 4, 8, 16): kinds['g%d' % depth, laced] = 0, depth, draw(9, 13, most=1 << "
      "depth)\n"
      "    for depth in (1, 2, 4, 8): kinds['p%d' % depth, laced] = 3, depth, draw(9, 13, most=1 << depth)\n"
      "    for depth in (8, 16):\n"
      "        for name, colour, c in (('la', 4, 2), ('rgb', 2, 3), ('rgba', 6, 4)):\n"
      "            kinds['%s%d' % (name, depth), laced] = colour, depth, draw(9, 13, c, most=1 << depth)\n"
      "want = []\nfor (name, laced), (colour, depth, x) in sorted(kinds.items()):\n"
      "    more = chunk(b'PLTE', plte[:3 << depth]) + chunk(b'tRNS', b'\\x80') if colour == 3 else b''\n"
      "    png('%s-%d.png' % (name, laced), x, colour, depth, laced, more)\n"
      "    x = x.astype('i8')\n"
      "    if colour == 3: y = n.frombuffer(plte, 'u1').reshape(-1, 3)[x]\n"
      "    else:\n"
      "        top = (1 << depth) - 1\n        y = (2 * x * 255 + top) // (2 * top)\n"
      "        if colour == 0: y = y[..., None]\n"
      "        if colour in (4, 6): y = y[..., :-1]\n"
      "    want.append(n.broadcast_to(y, (9, 13, 3)))\n"
      "n.save('want.npy', n.array(want))\n");
  const auto notes = prepare_flat({.channels = 3});
  EXPECT_EQ(inspect("want = n.load('want.npy')\nprint(rows.shape, [i for i in range(len(rows)) if not "
                    "n.array_equal(rows[i], want[i])])"),
            "(30, 9, 13, 3) []\n");
  std::string said;
  for (const auto& note : notes) said += note + "\n";
  for (const char* part :
       {"16 images had an alpha channel or a transparent colour, which was dropped; the first is ",
        "8 images had 16 bits, reduced to 8; the first is ",
        "14 images had only grey, converted to three channels; the first is "})
    EXPECT_NE(said.find(part), std::string::npos) << said;
}

TEST_F(PrepareImagesTest, JpegsAreWhatPillowReads) {
  python(
      drawing_in(folder_ / "images") +
      "for name, how in (('a', {}), ('b', dict(progressive=True)), ('c', dict(subsampling=2, quality=50)), "
      "('d', dict(subsampling=0))):\n    image(name + '.JPG', draw(31, 45, 3), **how)\n"
      "image('e.jpg', draw(31, 45))\nos.rename('b.JPG', 'b.png')\n");  // wrong file names
  (void)prepare_flat({.channels = 3});
  EXPECT_EQ(inspect("want = [n.asarray(Image.open(name).convert('RGB')).astype(int) for name in ('a.JPG', "
                    "'b.png', 'c.JPG', 'd.JPG', 'e.jpg')]\n"
                    "print(rows.shape, abs(rows - n.array(want)).max() <= 1)"),
            "(5, 31, 45, 3) True\n");
  (void)prepare_flat({.channels = 1});
  EXPECT_EQ(inspect("want = [luma(n.asarray(Image.open(name).convert('RGB'))) for name in ('a.JPG', 'b.png', "
                    "'c.JPG', 'd.JPG', 'e.jpg')]\n"
                    "print(rows.shape, abs(rows[..., 0] - n.array(want)).max() <= 1)"),
            "(5, 31, 45, 1) True\n");
}

TEST_F(PrepareImagesTest, ASizeIsReachedByTheMeanOfWhatEachPixelCovers) {
  python(drawing_in(folder_ / "images") +
         "for i, size in enumerate([(7, 10), (13, 5), (3, 4), (40, 56)]): image('%d.png' % i, draw(*size, "
         "3))\n");
  const auto notes = prepare_flat({.height = 7, .width = 10});
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("3 images had another size than 7 x 10, and was resized")) << notes[0];
  EXPECT_EQ(
      inspect("from fractions import Fraction as F\n"
              "def cover(of, to): return [[max(F(0), min(F(of, to) * (o + 1), i + 1) - max(F(of, to) * o, "
              "i)) for i in range(of)] for o in range(to)]\n"
              "for k in range(4):\n"
              "    x = n.asarray(Image.open('%d.png' % k)).astype(object)\n    h, w = x.shape[:2]\n"
              "    y = n.tensordot(n.array(cover(h, 7)), x, 1)\n"
              "    y = n.tensordot(n.array(cover(w, 10)), y, (1, 1)).transpose(1, 0, 2)\n"
              "    y = n.vectorize(lambda v: int(v * F(70, h * w) + F(1, 2)))(y)\n"
              "    print(n.array_equal(rows[k], y))\n"),
      "True\nTrue\nTrue\nTrue\n");
}

TEST_F(PrepareImagesTest, WhatDoesNotFitTogetherIsNamed) {
  python(drawing_in(folder_ / "images") + "image('a.png', draw(4, 5, 3))\nimage('b.png', draw(4, 6, 3))\n");
  EXPECT_TRUE(test::says(flat_error(), errors::bad_image,
                         {"images/b.png", "has 4 x 6", "images/a.png", "has 4 x 5", "--size"}));
  python(drawing_in(folder_ / "images") + "image('b.png', draw(4, 5))\n");
  EXPECT_TRUE(test::says(flat_error(), errors::bad_image,
                         {"images/b.png", "images/a.png", "--channels 1", "--channels 3"}));
  const PrepareImages labelled{.folder = folder_ / "images", .out = folder_ / "a.h5"};
  EXPECT_TRUE(test::says(test::refusal_of([&] { (void)prepare(labelled); }), errors::wrong_format,
                         {(folder_ / "images"), "--unlabelled", "its 2"}));
  std::filesystem::remove_all(folder_ / "images");
  EXPECT_TRUE(flat_error().starts_with("images: cannot be opened: No such file or directory"));
  std::filesystem::create_directories(folder_ / "images/one");
  EXPECT_TRUE(test::says(flat_error(), errors::too_little_data, {".png", ".jpg", ".jpeg"}));
  EXPECT_TRUE(test::says(test::refusal_of([&] { (void)prepare(labelled); }), errors::too_little_data,
                         {(folder_ / "images/one"), "--classes-of"}));
  write_file(folder_ / "file", "x");
  EXPECT_TRUE(test::says(test::refusal_of([&] {
                           (void)prepare(PrepareImages{.folder = folder_ / "file", .out = folder_ / "a.h5"});
                         }),
                         errors::not_a_folder, {(folder_ / "file")}));
}

TEST_F(PrepareImagesTest, ClassesMayBeThoseOfTheTrainingFile) {
  draw_classes();
  (void)prepare(PrepareImages{.folder = folder_ / "images", .out = folder_ / "train.h5"});
  std::filesystem::remove_all(folder_ / "images/ant");
  const PrepareImages job{
      .folder = folder_ / "images", .out = folder_ / "a.h5", .classes_of = folder_ / "train.h5"};
  (void)prepare(job);
  EXPECT_EQ(inspect("print(f.attrs['classes'], sorted(f['labels'][:]))"), "3 [1, 1, 2, 2]\n");
  std::filesystem::create_directory(folder_ / "images/ant");  // without an image
  (void)prepare(job);
  EXPECT_EQ(inspect("print(f.attrs['classes'], sorted(f['labels'][:]))"), "3 [1, 1, 2, 2]\n");
  std::filesystem::create_directory(folder_ / "images/elk");
  EXPECT_TRUE(test::says(test::refusal_of([&] { (void)prepare(job); }), errors::bad_names,
                         {(folder_ / "images/elk"), "'elk'", "the 3"}));
}

TEST_F(PrepareImagesTest, ADamagedImageEndsItOrIsLeftOutByName) {
  python(
      drawing_in(folder_ / "images") +
      "for i in range(4): image('%d.png' % i, draw(20, 20, 3))\nimage('4.jpg', draw(20, 20, "
      "3))\nimage('5.jpg', draw(20, 20, 3))\n"
      "b = open('1.png', 'rb').read()\nopen('1.png', 'wb').write(b[:500] + bytes([b[500] ^ 1]) + b[501:])\n"
      "b = open('2.png', 'rb').read()\nopen('2.png', 'wb').write(b[:-300])\n"
      "b = open('4.jpg', 'rb').read()\nopen('4.jpg', 'wb').write(b[:-200])\n"
      "open('6.png', 'wb').close()\nopen('7.png', 'w').write('<html>not found</html>')\n"
      "Image.fromarray(draw(20, 20, 4), 'CMYK').save('8.jpg')\n"
      "open('9.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 90000, "
      "90000, 8, 2, 0, 0, 0)) + "
      "chunk(b'IDAT', zlib.compress(bytes(1 << 20))) + chunk(b'IEND', b''))\n");
  const std::string damaged = flat_error();
  EXPECT_TRUE(damaged.starts_with("images/1.png: is damaged: IDAT: ") &&
              test::says(damaged, errors::bad_image, {"--on-corrupt skip"}))
      << damaged;
  const auto notes = prepare_flat({.on_corrupt = OnCorrupt::skip});
  ASSERT_EQ(notes.size(), 8u);
  const std::string out = "left out " + (folder_ / "images/");
  EXPECT_EQ(notes[1], out + "2.png: is damaged: ends too early");
  EXPECT_TRUE(notes[2].starts_with(out + "4.jpg: is damaged: ")) << notes[2];
  EXPECT_EQ(notes[3], out + "6.png: is empty");
  EXPECT_EQ(notes[4], out + "7.png: is neither a PNG nor a JPEG file");
  EXPECT_EQ(notes[5], out + "8.jpg: has CMYK colours; convert it to RGB");
  EXPECT_EQ(notes[6], out + "9.png: has 90000 x 90000 pixels, more than the 67108864 that an image may have");
  EXPECT_EQ(notes[7], "7 of 10 images are skipped");
  EXPECT_EQ(
      inspect("print([n.abs(rows[i].astype(int) - n.asarray(Image.open(name))).max() <= 1 for i, name in "
              "enumerate(['0.png', '3.png', '5.jpg'])], len(rows))"),
      "[True, True, True] 3\n");
}

TEST_F(PrepareImagesTest, HostileFilesAreImagesOrDamagedNeverMore) {
  python(
      drawing_in(folder_ / "images") +
      "image('a.png', draw(12, 12, 3))\nimage('b.jpg', draw(12, 12, 3))\nimage('c.jpg', draw(12, 12, 3), "
      "progressive=True)\n"
      "png('d.png', draw(12, 12, 4, most=65536), 6, 16, True)\n"
      "for name in ('a.png', 'b.jpg', 'c.jpg', 'd.png'):\n    whole = open(name, 'rb').read()\n"
      "    for i in range(60):\n        b = bytearray(whole)\n"
      "        for _ in range(source.integers(1, 4)): b[source.integers(0, len(b))] = source.integers(0, "
      "256)\n"
      "        if name.endswith('png') and i % 2:\n"  // with correct checksums
      "            fixed, at = bytes(b[:8]), 8\n"
      "            while at + 8 <= len(b):\n"
      "                size = int.from_bytes(b[at:at + 4], 'big')\n"
      "                fixed += chunk(bytes(b[at + 4:at + 8]), bytes(b[at + 8:at + 8 + size])); at += 12 + "
      "size\n"
      "            b = fixed\n"
      "        open('%s-%d.png' % (name[0], i), 'wb').write(bytes(b[:source.integers(1, len(b) + 200)]))\n");
  const auto notes = prepare_flat({.channels = 3, .height = 4, .width = 4, .on_corrupt = OnCorrupt::skip});
  EXPECT_GT(notes.size(), 50u);
}

TEST(ImageSize, IsHeightTimesWidth) {
  EXPECT_EQ(parse_image_size("32x48").height, 32);
  EXPECT_EQ(parse_image_size("32X48").width, 48);
  for (const char* wrong :
       {"", "32", "32x", "x32", "0x4", "4x-1", "4x4x4", "4x 4", "99999999999x1", "70000x1"}) {
    EXPECT_NE(test::refusal_of([&] {
                (void)parse_image_size(wrong);
              }).find("is not a size; expected height x width"),
              std::string::npos)
        << wrong;
  }
}

}  // namespace mylos::prepare_images_test
